package draw

// sign is the icon of a kind, drawn with lines or filled.
type sign struct {
	path  string
	solid bool
}

// icons are the signs of kinds, and of families for all other kinds.
var icons = map[string]sign{
	"ai":        {"M8 1C8.6 5.4 10.6 7.4 15 8C10.6 8.6 8.6 10.6 8 15C7.4 10.6 5.4 8.6 1 8C5.4 7.4 7.4 5.4 8 1z", true},
	"host":      {"M2.5 4L6.5 8L2.5 12M8 12.5H13.5", false},
	"person":    {"M8 8A3 3 0 1 0 8 2A3 3 0 0 0 8 8M2.5 14.5C2.5 11.5 5 10 8 10S13.5 11.5 13.5 14.5", false},
	"flow":      {"M8 2L14 8L8 14L2 8z", false},
	"group":     {"M2 2H10V10H2zM6 6H14V14H6z", false},
	"good":      {"M3 8.5L6.5 12L13 4.5", false},
	"bad":       {"M4 4L12 12M12 4L4 12", false},
	"verify":    {"M8 1.5L13.5 3.5V8C13.5 11.5 11 13.7 8 14.8C5 13.7 2.5 11.5 2.5 8V3.5zM5.3 8L7.4 10.1L10.9 6", false},
	"assign":    {"M3 6H13M3 10H13", false},
	"wait":      {"M8 14.5A6.5 6.5 0 1 0 8 1.5A6.5 6.5 0 0 0 8 14.5M8 4.5V8L10.5 9.5", false},
	"join":      {"M3 2L8 8L13 2M8 8V14.5M5.5 12L8 14.5L10.5 12", false},
	"map":       {"M8 2V5.5M8 5.5L3 11M8 5.5V11M8 5.5L13 11M3 11V14M8 11V14M13 11V14", false},
	"parallel":  {"M4 2V14M12 2V14", false},
	"workflow":  {"M2 3H7V8H2zM9 8.5H14V13.5H9zM4.5 8V11H9", false},
	"approval":  {"M8 14.5A6.5 6.5 0 1 0 8 1.5A6.5 6.5 0 0 0 8 14.5M5 8L7.2 10.2L11 6", false},
	"gate":      {"M8 14.5A6.5 6.5 0 1 0 8 1.5A6.5 6.5 0 0 0 8 14.5M5 8L7.2 10.2L11 6", false},
	"condition": {"M8 2L14 8L8 14L2 8z", false},
}

// style is the look, light and dark. Colours stand in classes, because not every
// viewer knows variables.
const style = `
.paper{fill:#ffffff}.veil{fill:#f8fafc}
text{font-family:ui-sans-serif,system-ui,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
.h{font-size:18px;font-weight:650;fill:#0f172a}
.t{font-size:13px;font-weight:600;fill:#0f172a}
.m{font-size:11px;fill:#64748b}
.o{font-size:11px;font-weight:600;fill:#475569}
.x{font-size:10px;fill:#b45309}
.l{font-size:10.5px;fill:#475569;text-anchor:middle}
.l.start{text-anchor:start}
.le{fill:#b4637a}
.lb{fill:#2563eb}
.e{fill:none;stroke:#94a3b8;stroke-width:1.5}
.err{stroke:#e0b4bf;stroke-width:1.3}
.back{stroke:#7aa2f7;stroke-dasharray:5 3.5}
.hd{fill:#94a3b8}.he{fill:#d799a8}.hb{fill:#5b8def}
.dot{fill:#475569}
.ring{fill:none;stroke:#475569;stroke-width:1.4}
.card{fill:#ffffff;stroke:#cbd5e1;stroke-width:1.2}
.fr{fill:#f8fafc;stroke:#cbd5e1;stroke-width:1;stroke-dasharray:3 3}
.i{fill:none;stroke:#64748b;stroke-width:1.5;stroke-linecap:round;stroke-linejoin:round}
.i.solid{stroke:none}
.bar{fill:#94a3b8}
.pen{fill:none;stroke:#94a3b8;stroke-width:1.1;stroke-linejoin:round}
.ai .bar,.ai .solid{fill:#7c3aed}.ai .i{stroke:#7c3aed}.ai .card{fill:#fbf9ff;stroke:#d8c9fb}
.ai .i.solid{stroke:none}
.host .bar{fill:#0284c7}.host .i{stroke:#0284c7}.host .card{fill:#f7fbff;stroke:#bfdbf3}
.person .bar{fill:#d97706}.person .i{stroke:#d97706}.person .card{fill:#fffbf2;stroke:#f2d6a2}
.flow .bar{fill:#94a3b8}.flow .card{fill:#f8fafc}
.group .bar{fill:#0d9488}.group .i{stroke:#0d9488}.group .card{fill:#ffffff;stroke:#a7d9d3}
.good .i{stroke:#15803d}.good .card{fill:#f0fdf4;stroke:#a7e0b8}
.bad .i{stroke:#b91c1c}.bad .card{fill:#fef4f4;stroke:#f1b5b5}
.idle{opacity:.45}
.s-succeeded .card{stroke:#16a34a;stroke-width:2}.s-succeeded .o{fill:#15803d}
.s-failed .card{stroke:#dc2626;stroke-width:2}.s-failed .o{fill:#b91c1c}
.s-running .card{stroke:#2563eb;stroke-width:2.4}.s-running .o{fill:#1d4ed8}
.s-waiting .card{stroke:#d97706;stroke-width:2.4}.s-waiting .o{fill:#b45309}
@media (prefers-color-scheme:dark){
.paper{fill:#0b1020}.veil{fill:#0f1526}
.h,.t{fill:#e5e9f5}
.m{fill:#93a0bd}.o{fill:#c2cbe0}.l{fill:#a8b3cf}
.le{fill:#d98a9e}.lb{fill:#8ab4ff}
.e{stroke:#5a6787}.err{stroke:#6d4450}.back{stroke:#4f74c8}
.hd{fill:#5a6787}.he{fill:#8c5866}.hb{fill:#6b92e8}
.dot{fill:#a8b3cf}.ring{stroke:#a8b3cf}
.card{fill:#131a2e;stroke:#33405f}
.fr{fill:#0f1526;stroke:#33405f}
.ai .card{fill:#1c1633;stroke:#4c3a86}.ai .bar,.ai .solid{fill:#a78bfa}
.host .card{fill:#0f1d30;stroke:#24486b}.host .bar{fill:#38bdf8}.host .i{stroke:#38bdf8}
.person .card{fill:#241a0c;stroke:#6b4a17}.person .bar{fill:#fbbf24}.person .i{stroke:#fbbf24}
.flow .card{fill:#141a2a}
.group .card{fill:#101a24;stroke:#1f5f5a}.group .i{stroke:#2dd4bf}.group .bar{fill:#2dd4bf}
.good .card{fill:#0d2016;stroke:#1f6b3a}.good .i{stroke:#4ade80}
.bad .card{fill:#271214;stroke:#7a2a2f}.bad .i{stroke:#f87171}
.x{fill:#fbbf24}
.s-succeeded .card{stroke:#22c55e}.s-succeeded .o{fill:#4ade80}
.s-failed .card{stroke:#ef4444}.s-failed .o{fill:#f87171}
.s-running .card{stroke:#60a5fa}.s-running .o{fill:#93c5fd}
.s-waiting .card{stroke:#f59e0b}.s-waiting .o{fill:#fbbf24}
}
`
