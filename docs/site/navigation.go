package site

// A Kind is a kind of documents: what a reader wants of them.
type Kind struct {
	Title  string
	Groups []Group
}

// A Group is a list of documents of a kind. Its title is "" if the kind has only one.
type Group struct {
	Title   string
	Entries []*Entry
}

// An Entry is a document in the navigation.
type Entry struct{ Title, URL string }

// first is the document whose lists are the navigation.
const first = "README.md"

// navigation returns the lists of the first document: its sections are kinds, their sections are
// groups, and the first link of each item is an entry.
func (s *Site) navigation() []*Kind {
	var kinds []*Kind
	for _, d := range s.pages {
		if d.name != first {
			continue
		}
		for _, item := range d.items {
			kind := lastOf(kinds)
			if kind == nil || kind.Title != item.section {
				kind = &Kind{Title: item.section}
				kinds = append(kinds, kind)
			}
			if n := len(kind.Groups); n == 0 || kind.Groups[n-1].Title != item.group {
				kind.Groups = append(kind.Groups, Group{Title: item.group})
			}
			group := &kind.Groups[len(kind.Groups)-1]
			group.Entries = append(group.Entries, &Entry{Title: item.title, URL: item.url})
		}
	}
	return kinds
}

func lastOf(kinds []*Kind) *Kind {
	if len(kinds) == 0 {
		return nil
	}
	return kinds[len(kinds)-1]
}

// around returns the kind of a page and its neighbors in the navigation.
func (s *Site) around(url string) (kind string, previous, next *Entry) {
	var before *Entry
	found := false
	for _, k := range s.nav {
		for _, g := range k.Groups {
			for _, e := range g.Entries {
				if found {
					return kind, previous, e
				}
				if e.URL == url {
					kind, previous, found = k.Title, before, true
				}
				before = e
			}
		}
	}
	return kind, previous, nil
}
