package source

// render appends n to the document's JSON text.
func (d *Document) render(n *node) {
	n.start = len(d.json)
	d.order = append(d.order, n)
	switch n.kind {
	case kindNull:
		d.json = append(d.json, "null"...)
	case kindString:
		d.json = appendString(d.json, n.value)
	case kindBool, kindNumber:
		d.json = append(d.json, n.value...)
	case kindArray:
		d.json = append(d.json, '[')
		for i, item := range n.items {
			if i > 0 {
				d.json = append(d.json, ',')
			}
			d.render(item)
		}
		d.json = append(d.json, ']')
	case kindObject:
		d.json = append(d.json, '{')
		for i, m := range n.members {
			if i > 0 {
				d.json = append(d.json, ',')
			}
			d.json = append(appendString(d.json, m.key), ':')
			d.render(m.value)
		}
		d.json = append(d.json, '}')
	}
}

func appendString(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, '\\', 'n')
		case c < 0x20:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
