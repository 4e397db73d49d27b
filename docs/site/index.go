package site

import (
	"bytes"

	"github.com/go-json-experiment/json"
)

// index returns a script with the text of all sections, which the site's script searches:
// for each page its URL, title and kind, and its sections, each with anchor, heading and text.
func (s *Site) index() []byte {
	type entry struct {
		URL      string      `json:"url"`
		Title    string      `json:"title"`
		Kind     string      `json:"kind"`
		Sections [][3]string `json:"sections"`
	}
	var all []entry
	for _, d := range s.pages {
		kind, _, _ := s.around(d.url)
		e := entry{URL: d.url, Title: d.title, Kind: kind}
		for _, part := range d.sections {
			e.Sections = append(e.Sections, [3]string{part.id, part.heading, part.text})
		}
		all = append(all, e)
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // strings can be written
	}
	var b bytes.Buffer
	b.WriteString("musterIndex = ")
	b.Write(text)
	b.WriteString(";\n")
	return b.Bytes()
}
