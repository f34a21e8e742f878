/*
 * render_html_style.c - head, style and script of the HTML page: constant, whatever the report. The content
 * policy lets nothing be loaded and no script run but this one, known by its hash, so that even a text that got
 * past html_text() could do nothing. Without the script the page is whole; with it tables sort and filter, and
 * a link into a closed section opens it.
 */
#include "render_html.h"

/* Of the text of the script below, as `sha256sum | xxd -r -p | base64` has it; a test compares. */
#define SCRIPT_HASH "sha256-ns1LC7IV1kkIlIo2KPtgEhBuRWWGGD/gF7PsF7OD2oM="

static const char style[] =
	":root{color-scheme:light dark;--bg:#fdfdfc;--ink:#18202b;--soft:#545f6e;--line:#dfe3e8;--pale:#eceff3;"
	"--card:#f6f7f9;--bar:#7f9fc6;--bar2:#c3d2e6;--link:#1c5a9e;--warn:#8f3a00;--warnbg:#fff3e2;--memory:#0b6b6e;"
	"--compute:#9a4a06;--balanced:#6a3ea1;--latency:#a92a3b;--launch:#40577d;--unknown:#626b78;--op:#1c5a9e}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#13171d;--ink:#e3e8ee;--soft:#9aa6b5;--line:#2c343f;"
	"--pale:#262d37;--card:#1a2028;--bar:#5f86b8;--bar2:#33475f;--link:#86b6ee;--warn:#ffb871;--warnbg:#33251a;"
	"--memory:#5cc6c3;--compute:#f0a35a;--balanced:#c09bf0;--latency:#f38a95;--launch:#9db4d8;--unknown:#a3adba;"
	"--op:#86b6ee}}\n"
	"@media print{:root{color-scheme:light;--bg:#fff;--ink:#000;--soft:#444;--line:#ccc;--pale:#e8e8e8;"
	"--card:#f7f7f7;--bar:#7f9fc6;--bar2:#c3d2e6;--link:#000;--warn:#7a3000;--warnbg:#fff;--memory:#0b6b6e;"
	"--compute:#9a4a06;--balanced:#6a3ea1;--latency:#a92a3b;--launch:#40577d;--unknown:#555;--op:#000}"
	"details::details-content{content-visibility:visible;block-size:auto}.tool,nav{display:none!important}.tall{background:none!important}.tall,pre{max-height:none!important}}\n"
	"*{box-sizing:border-box}html{scroll-padding-top:1rem;-webkit-text-size-adjust:100%;text-size-adjust:100%}\n"
	"body{margin:0 auto;padding:2rem 1.5rem 4rem;max-width:80rem;background:var(--bg);color:var(--ink);"
	"font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif;"
	"font-variant-numeric:tabular-nums;overflow-wrap:anywhere}\n"
	"h1,h2,h3,h4{line-height:1.25;font-weight:650;margin:0}h1{font-size:1.7rem;letter-spacing:-.01em}\n"
	"h2{font-size:1.25rem;margin:3rem 0 1rem;padding-top:1rem;border-top:1px solid var(--line)}\n"
	"h3{font-size:1rem;margin:0 0 .4rem}h4{font-size:.87rem;margin:1rem 0 .3rem}p{margin:.4rem 0;max-width:52rem}\n"
	"a{color:var(--link);text-decoration-thickness:1px;text-underline-offset:2px}\n"
	"a.n{text-decoration:none}a.n:hover{text-decoration:underline}ul,ol{margin:.4rem 0;padding-left:1.3rem}small,.s1{font-size:.87em;color:var(--soft)}.x{color:var(--soft)}\n"
	"code,pre,.n{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;"
	"font-size:.9em;unicode-bidi:isolate}\n"
	".n{font-size:.92em}h1 code{font-size:1em;font-weight:600}\n"
	"sup{font-size:.68em;line-height:0;margin-left:.12em;color:var(--soft);font-style:italic;cursor:help;"
	"vertical-align:.45em}sup.e,sup.r{color:var(--warn);font-weight:600}\n"
	"nav{display:flex;flex-wrap:wrap;gap:.2rem 1.3rem;margin:1.2rem 0;font-size:.93rem}.kick{margin:0 0 .3rem;color:var(--soft);font-size:.87rem}.kick b{color:var(--ink);font-weight:650}\n"
	".loud{margin:1.2rem 0;padding:.7rem 1rem;border-left:4px solid var(--warn);background:var(--warnbg);"
	"color:var(--warn);max-width:none}\n"
	".key{font-size:.87rem;color:var(--soft);max-width:none}.key span{margin-right:1.1em;white-space:nowrap}\n"
	/* figures */
	"dl.f{display:grid;grid-template-columns:repeat(auto-fit,minmax(10.5rem,1fr));gap:1.2rem 2rem;margin:1.6rem 0}\n"
	"dl.f dt{font-size:.87rem;color:var(--soft)}dl.f dd{margin:0}dl.f b{display:block;font-size:1.45rem;"
	"font-weight:600;line-height:1.3;letter-spacing:-.01em}dl.f+p b{font-weight:600}\n"
	/* tables */
	".w{overflow-x:auto;max-width:100%}table{border-collapse:collapse;font-size:.93rem}\n"
	"td,th{padding:.22rem .8rem .22rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);"
	"font-weight:inherit;overflow-wrap:break-word}th{color:var(--soft)}thead th{font-size:.87em;vertical-align:bottom}\n"
	"td:last-child,th:last-child{padding-right:0}tr:last-child>*{border-bottom:0}thead tr:last-child>*{"
	"border-bottom:1px solid var(--line)}\n"
	".r td,.r th{text-align:right;white-space:nowrap}.r td.l{white-space:normal}.r td.l:last-child{min-width:11rem}.r td:first-child,.r th:first-child,.r .l{text-align:left}\n"
	"td.on{font-weight:650}.sum>*{font-weight:650;border-top:1px solid var(--ink)}\n"
	/* bars */
	"i.b{display:inline-block;width:5rem;height:.55em;border-radius:2px;vertical-align:.06em;background:"
	"linear-gradient(to right,var(--bar) var(--w),var(--pale) 0);-webkit-print-color-adjust:exact;"
	"print-color-adjust:exact}\n"
	"i.b.r{background:linear-gradient(to right,var(--bar) var(--w),var(--bar2) 0,var(--bar2) var(--z),"
	"var(--pale) 0)}i.b.u{background:linear-gradient(to right,var(--pale) var(--w),var(--bar) 0,"
	"var(--bar) var(--z),var(--pale) 0)}\n"
	".stack{display:flex;height:.9rem;border-radius:3px;overflow:hidden;background:var(--pale);max-width:52rem}"
	".stack i{min-width:2px;border-right:1px solid var(--bg);print-color-adjust:exact}"
	".k0{background:var(--memory)}.k1{background:var(--bar)}.k2{background:var(--compute)}.k3{background:"
	"var(--balanced)}.k4{background:var(--latency)}.k5{background:var(--warn)}.k6{background:var(--unknown)}"
	".k7{background:var(--ink)}\n"
	".sw{display:inline-block;width:.7em;height:.7em;border-radius:2px;margin-right:.5em}\n"
	/* classes */
	".c{font-size:.87em;font-weight:600;white-space:nowrap;color:var(--unknown)}.c.memory,.p.memory{color:var(--memory)}"
	".c.compute,.p.compute{color:var(--compute)}.c.balanced,.p.balanced{color:var(--balanced)}.c.latency,.p.latency{color:var(--latency)}"
	".c.launch,.p.launch{color:var(--launch)}.c.unknown{font-weight:400}\n"
	/* what to do */
	"ol.do{list-style:none;padding:0;counter-reset:d var(--s,0);margin:0}details>summary{cursor:pointer;color:var(--link)}ol.do>li{counter-increment:d;padding:.9rem 0 .9rem "
	"2.4rem;position:relative;border-bottom:1px solid var(--line);max-width:60rem}ol.do>li:last-child{border:0}\n"
	"ol.do>li::before{content:counter(d);position:absolute;left:0;top:.85rem;width:1.6rem;height:1.6rem;"
	"border-radius:50%;background:var(--pale);text-align:center;font-size:.87rem;line-height:1.6rem;"
	"font-weight:650}\n"
	".do h3{display:inline;margin-right:.5rem}.gain{white-space:nowrap}.gain b{font-size:1.05rem}\n"
	"dl.t{display:grid;grid-template-columns:max-content 1fr;gap:.15rem .9rem;margin:.4rem 0;font-size:.93rem}"
	"dl.t dt{color:var(--soft)}dl.t dd{margin:0}\n"
	/* the table of kernels */
	"table.s{width:100%}table.s td,table.s th{padding:.32rem .8rem .32rem 0;white-space:nowrap;text-align:right}"
	"table.s .l{text-align:left}table.s td.l:nth-child(2){white-space:normal;min-width:11rem;overflow-wrap:anywhere}table.s td.l:nth-child(12){white-space:normal;"
	"min-width:12rem;font-size:.87rem;color:var(--soft);overflow-wrap:anywhere}"
	"table.s thead th{position:sticky;top:-1px;background:var(--bg);z-index:1}"
	"table.s button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer}"
	"table.s button::after{content:\"\\2003\";font-size:.8em}[aria-sort=descending] button::after{content:"
	"\"\\2002\\25be\"!important}[aria-sort=ascending] button::after{content:\"\\2002\\25b4\"!important}"
	"table.s button:hover{color:var(--ink);text-decoration:underline}[aria-sort] button{color:var(--ink);"
	"font-weight:650}table.s tbody tr:hover{background:var(--card)}"
	"table.s i.b{width:3.4rem}.num{display:inline-block;min-width:3.6em;text-align:right}.tall{max-height:46rem;"
	"overflow:auto;background:linear-gradient(transparent,var(--bg) 60%) 0 100%/100% 3rem no-repeat local,"
	"radial-gradient(farthest-side at 50% 100%,var(--bar2),transparent) 0 100%/100% 1rem no-repeat scroll}\n"
	".tool{display:flex;gap:.8rem 1.2rem;flex-wrap:wrap;align-items:center;margin:.6rem 0;font-size:.93rem;"
	"color:var(--soft)}.tool input,.tool button{font:inherit;color:var(--ink);background:var(--bg);border:1px "
	"solid var(--line);border-radius:5px;padding:.25rem .6rem}.tool input{width:18rem;max-width:100%}"
	".tool button{cursor:pointer}:focus-visible{outline:2px solid var(--link);outline-offset:2px}\n"
	/* kernels */
	"details.k{border-bottom:1px solid var(--line)}details.k>summary{color:inherit;display:grid;grid-template-columns:2.4rem "
	"minmax(0,1fr) 9.5rem 5.5rem 5.5rem;gap:0 1rem;padding:.6rem 0;cursor:pointer;align-items:baseline;"
	"list-style:none}summary::-webkit-details-marker{display:none}details.k>summary::before{display:none}"
	"details.k>summary:hover{background:var(--card)}details.k[open]>summary{border-bottom:0}"
	"details.k[open]>summary .n{font-weight:650}summary>.no{color:var(--soft)}"
	"summary>.no::before{content:\"\\25b8\";display:inline-block;width:1em;font-size:.8em}"
	"details[open]>summary>.no::before{content:\"\\25be\"}summary>.v{text-align:right;white-space:nowrap}\n"
	".body{padding:.2rem 0 2rem 3.4rem}.body>p:first-child{margin-top:0}.cols{columns:2 25rem;"
	"column-gap:3.2rem;margin-top:1.2rem}.cols>section,.wide{break-inside:avoid;margin:0 0 1.8rem}"
	".cols>section{display:inline-block;width:100%}\n"
	".body details>summary{cursor:pointer;color:var(--link);font-size:.93rem}\n"
	".trap{padding:.4rem .8rem;border-left:3px solid var(--warn);background:var(--warnbg);margin:.5rem 0}\n"
	"pre{margin:.4rem 0;padding:.8rem 1rem;background:var(--card);border-radius:5px;overflow-x:auto;"
	"font-size:.8rem;line-height:1.5;overflow-wrap:normal;tab-size:8;max-height:34rem;overflow-y:auto}"
	"pre b{font-weight:600;color:var(--op)}pre u{text-decoration:none;color:var(--warn);font-weight:600}"
	"pre s{text-decoration:none;color:var(--soft)}\n"
	/* chart */
	"figure{margin:0 0 1.5rem}figcaption{font-size:.87rem;color:var(--soft);max-width:52rem}svg{display:block;"
	"width:100%;height:auto;max-width:66rem;font-family:inherit}svg text{fill:var(--soft);font-size:12px}"
	"svg .axis{stroke:var(--soft);fill:none}svg .grid{stroke:var(--line);stroke-width:1}svg .roof{stroke:var(--ink);stroke-width:1.75;fill:none}"
	"svg .roof2{stroke:var(--soft);stroke-width:1.25;fill:none}svg .rt{fill:var(--ink);paint-order:stroke;stroke:var(--bg);stroke-width:3px}svg .p{color:var(--unknown)}svg .pt{"
	"fill:currentColor;stroke:var(--bg);stroke-width:1.5}svg .iv{stroke:currentColor;stroke-width:1.5;opacity:.55}"
	"svg .hollow{fill:var(--bg);stroke:currentColor;stroke-width:2}svg .nm{fill:var(--ink);font-size:11.5px;paint-order:stroke;stroke:"
	"var(--bg);stroke-width:3px;stroke-linejoin:round}svg a:hover .pt{stroke:var(--ink)}svg.narrow{display:none}\n"
	/* between a phone and a wide screen some columns are in the sections only */
	"@media(min-width:44.01rem) and (max-width:76rem){table.s td:nth-child(9),table.s td:nth-child(10),table.s "
	"th:nth-child(9),table.s th:nth-child(10){display:none}}\n"
	"@media(min-width:44.01rem) and (max-width:66rem){table.s i.b{display:none}table.s td,table.s th{padding-right:"
	".5rem}table.s td.l:nth-child(2),table.s td.l:nth-child(12){min-width:8rem}}\n"
	"@media(min-width:44.01rem) and (max-width:56rem){table.s td:nth-child(6),table.s th:nth-child(6){display:none}}\n"
	"@media(max-width:44rem){.key span{display:inline-block;white-space:normal}.r td.l{min-width:0!important}body{padding:1.2rem 1rem 3rem;font-size:16px}h1{font-size:1.35rem}svg.large{"
	"display:none}svg.narrow{display:block}dl.f{grid-template-columns:1fr 1fr;gap:1rem}dl.f b{font-size:1.2rem}"
	".body{padding-left:0}.cols{columns:auto}details.k>summary{grid-template-columns:2.2rem minmax(0,1fr) "
	"4.5rem;gap:0 .5rem}summary>.n{grid-column:2/4}summary>.v{text-align:left}summary>.sh{grid-column:2}"
	"summary>.md{display:none}summary>.cl{text-align:right}dl.t{grid-template-columns:1fr}dl.t dt{margin-top:"
	".3rem}ol.do>li{padding-left:2.2rem}.gain{display:block;white-space:normal}.tool input{width:100%}\n"
	/* each row of the kernel table a card */
	"table.s,table.s tbody,table.s thead,table.s tr{display:block}table.s thead tr{display:flex;flex-wrap:wrap;"
	"gap:.1rem 1rem;padding-bottom:.5rem}table.s thead th{position:static;border:0!important;padding:0}"
	"table.s tbody tr{display:grid;grid-template-columns:2.2rem 1fr 1fr;padding:.6rem 0;border-bottom:1px solid "
	"var(--line)}table.s tbody td{border:0;padding:0;text-align:left;min-width:0!important;white-space:normal}"
	"table.s td:nth-child(1){grid-row:1/8;color:var(--soft)}table.s td:nth-child(2){grid-column:2/4}"
	"table.s td:nth-child(n+4)::before{color:var(--soft);font-size:.87em;margin-right:.4em}"
	"table.s td:nth-child(4)::before{content:\"total\"}table.s td:nth-child(5)::before{content:\"median\"}"
	"table.s td:nth-child(6)::before{content:\"launches\"}table.s td:nth-child(7)::before{content:\"max occ.\"}"
	"table.s td:nth-child(8)::before{content:\"limit\"}table.s td:nth-child(9)::before{content:\"waves\"}"
	"table.s td:nth-child(10)::before{content:\"cliff\"}table.s td:nth-child(11)::before{content:\"class\"}"
	"table.s td:nth-child(12){grid-column:2/4}table.s td:nth-child(12):not(:empty)::before{content:\"try\"}"
	"table.s i.b{margin-right:.5em}table.s td:nth-child(7) i{display:none}table.s .num{min-width:0}}\n"
	"@media(max-width:44rem){.stack{height:1.1rem}table{font-size:.875rem}.r td,.r th{padding-right:.6rem}}\n";

static const char script[] =
	"'use strict';(function(){var d=document;\n"
	"function each(s,f,e){Array.prototype.forEach.call((e||d).querySelectorAll(s),f)}\n"
	"function el(t,p,x){var e=d.createElement(t);if(x)e.textContent=x;if(p)p.appendChild(e);return e}\n"
	/* What is not known has no key and stays at the end, whichever way the others go. */
	"function key(r,i){var c=r.cells[i],v=c.getAttribute('data-v');return v===null?c.classList.contains('l')?"
	"c.textContent.trim().toLowerCase():'':v===''?'':+v}\n"
	"function sort(t,i,up){var b=t.tBodies[0],a=Array.prototype.map.call(b.rows,function(r,n){return[key(r,i),n,r]});\n"
	"a.sort(function(x,y){if(x[0]===y[0])return x[1]-y[1];if(x[0]==='')return 1;if(y[0]==='')return-1;\n"
	"return(x[0]<y[0]?-1:1)*(up?1:-1)});var f=d.createDocumentFragment();a.forEach(function(x){f.appendChild(x[2])});"
	"b.appendChild(f);\n"
	"each('th',function(h,n){if(n===i)h.setAttribute('aria-sort',up?'ascending':'descending');"
	"else h.removeAttribute('aria-sort')},t)}\n"
	"each('table.s',function(t){each('thead th',function(h,i){var k=d.createElement('button'),l="
	"h.classList.contains('l')||i===0;k.type='button';while(h.firstChild)k.appendChild(h.firstChild);"
	"h.appendChild(k);\n"
	"k.onclick=function(){var s=h.getAttribute('aria-sort');sort(t,i,s?s==='descending':l)}},t);\n"
	"if(t.tBodies[0].rows.length>9){var box=el('div');box.className='tool';t.parentNode.parentNode.insertBefore("
	"box,t.parentNode);\n"
	"var n=el('input',box);n.type='search';n.placeholder='Filter by name, class, limit';n.setAttribute("
	"'aria-label','Filter kernels');var m=el('span',box);\n"
	"n.oninput=function(){var q=n.value.toLowerCase(),c=0;Array.prototype.forEach.call(t.tBodies[0].rows,"
	"function(r){var on=(r.textContent+' '+r.title).toLowerCase().indexOf(q)>=0;r.hidden=!on;"
	"r.style.display=on?'':'none';c+=on});m.textContent=q?c+' of '+t.tBodies[0].rows.length:''}}});\n"
	"function all(v){each('details.k',function(e){e.open=v})}\n"
	"var k=d.querySelector('details.k');if(k){var box=el('div');box.className='tool';k.parentNode.insertBefore("
	"box,k);[['Open all',true],['Close all',false]].forEach(function(x){var b=el('button',box,x[0]);"
	"b.type='button';b.onclick=function(){all(x[1])}})}\n"
	"function show(){var e=d.getElementById(location.hash.slice(1)),p=e&&e.closest('details');"
	"if(p){p.open=true;p.scrollIntoView()}}\n"
	"addEventListener('hashchange',show);show();"
	"addEventListener('beforeprint',function(){each('details',function(e){e.open=true})})})();\n";

static void put_title(const struct report *r, FILE *out)
{
	fputs("<title>kbn", out);
	if (r->runs_n && r->runs[0].command_n) {
		fputs(": ", out);
		for (size_t i = 0; i < r->runs[0].command_n && i < 4; i++) {
			html_text(r->runs[0].command[i], 40, out);
			fputc(' ', out);
		}
	}
	fputs("</title>\n", out);
}

void html_head(const struct report *r, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
	      "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
	      "'unsafe-inline'; script-src '" SCRIPT_HASH
	      "'; base-uri 'none'; form-action 'none'\">\n"
	      "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n"
	      "<meta name=referrer content=no-referrer>\n",
	      out);
	put_title(r, out);
	fputs("<style>\n", out);
	fputs(style, out);
	fputs("</style>\n</head>\n", out);
}

void html_script(FILE *out)
{
	fputs("<script>", out);
	fputs(script, out);
	fputs("</script>\n", out);
}
