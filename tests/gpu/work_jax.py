"""JAX: a jitted function with a product and its gradient. Prints a checksum."""
import jax
import jax.numpy as jnp


def main():
    @jax.jit
    def step(w, x):
        value, grad = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)
        return w - 0.1 * grad, value

    w = jnp.ones((256, 256), jnp.float32) * 0.01
    x = jnp.arange(128 * 256, dtype=jnp.float32).reshape(128, 256) / 32768.0
    value = 0.0
    for _ in range(50):
        w, value = step(w, x)
    print("jax", repr(float(value)), repr(float(w.sum())))


main()
