package pages

import (
	"math"
	"strconv"
	"strings"
)

// point is a place on earth, in degrees.
type point struct {
	Lat float64 `json:"lat"`
	Lon float64 `json:"lon"`
}

// city is where a region's data centers are, to the nearest large city.
type city struct {
	name string
	at   point
}

// cities are the places of AWS's Regions (AWS, Regions and Availability Zones), with the
// coordinates of the city or capital that each is named after.
var cities = map[string]city{
	"af-south-1": {"Cape Town", point{-33.9, 18.4}}, "ap-east-1": {"Hong Kong", point{22.3, 114.2}},
	"ap-northeast-1": {"Tokyo", point{35.7, 139.7}}, "ap-northeast-2": {"Seoul", point{37.6, 127.0}},
	"ap-northeast-3": {"Osaka", point{34.7, 135.5}}, "ap-south-1": {"Mumbai", point{19.1, 72.9}},
	"ap-south-2": {"Hyderabad", point{17.4, 78.5}}, "ap-southeast-1": {"Singapore", point{1.4, 103.8}},
	"ap-southeast-2": {"Sydney", point{-33.9, 151.2}}, "ap-southeast-3": {"Jakarta", point{-6.2, 106.8}},
	"ap-southeast-4": {"Melbourne", point{-37.8, 145.0}}, "ap-southeast-5": {"Kuala Lumpur", point{3.1, 101.7}},
	"ap-southeast-7": {"Bangkok", point{13.8, 100.5}}, "ca-central-1": {"Montreal", point{45.5, -73.6}},
	"ca-west-1": {"Calgary", point{51.0, -114.1}}, "cn-north-1": {"Beijing", point{39.9, 116.4}},
	"cn-northwest-1": {"Zhongwei", point{37.5, 105.2}}, "eu-central-1": {"Frankfurt", point{50.1, 8.7}},
	"eu-central-2": {"Zurich", point{47.4, 8.5}}, "eu-north-1": {"Stockholm", point{59.3, 18.1}},
	"eu-south-1": {"Milan", point{45.5, 9.2}}, "eu-south-2": {"Zaragoza", point{41.6, -0.9}},
	"eu-west-1": {"Dublin", point{53.3, -6.3}}, "eu-west-2": {"London", point{51.5, -0.1}},
	"eu-west-3": {"Paris", point{48.9, 2.4}}, "il-central-1": {"Tel Aviv", point{32.1, 34.8}},
	"me-central-1": {"Dubai", point{25.2, 55.3}}, "me-south-1": {"Manama", point{26.2, 50.6}},
	"mx-central-1": {"Querétaro", point{20.6, -100.4}}, "sa-east-1": {"São Paulo", point{-23.5, -46.6}},
	"us-east-1": {"Ashburn", point{39.0, -77.5}}, "us-east-2": {"Columbus", point{40.0, -83.0}},
	"us-west-1": {"San Francisco", point{37.8, -122.4}}, "us-west-2": {"Boardman", point{45.8, -119.7}},
}

// Tags of a custom location that the map reads: latitude and longitude in degrees, north
// and east positive, such as "52.5 13.4"; and the name of the place.
const (
	coordinatesTag = "muster:coordinates"
	cityTag        = "muster:city"
)

// placed returns where a location is; at is nil if nobody knows.
func (p *Pages) placed(location string) (name string, at *point) {
	if c, ok := cities[location]; ok {
		return c.name, &c.at
	}
	tags := p.Tags(p.Home.Of("location", location))
	return tags[cityTag], coordinates(tags[coordinatesTag])
}

// coordinates reads the value of a tag; it returns nil if that is not a place on earth.
func coordinates(text string) *point {
	f := strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == ',' })
	if len(f) != 2 {
		return nil
	}
	lat, err := strconv.ParseFloat(f[0], 64)
	if err != nil || !(math.Abs(lat) <= 90) { // false also for NaN
		return nil
	}
	lon, err := strconv.ParseFloat(f[1], 64)
	if err != nil || !(math.Abs(lon) <= 180) {
		return nil
	}
	return &point{lat, lon}
}
