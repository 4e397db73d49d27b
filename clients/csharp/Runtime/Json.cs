using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Muster
{
    /// <summary>
    /// A JSON value. It reads and writes without reflection, so that code stripping and
    /// ahead-of-time compilation do not break it.
    /// </summary>
    public sealed class JsonValue
    {
        private enum Kind { Null, Bool, Number, Text, List, Object }

        /// <summary>The value null; also what a missing member is.</summary>
        public static readonly JsonValue Null = new JsonValue(Kind.Null);

        private readonly Kind kind;
        private readonly bool truth;
        private readonly string text; // of text, and of a number as it was written
        private readonly List<JsonValue> items;
        private readonly List<KeyValuePair<string, JsonValue>> members;

        private JsonValue(Kind kind, bool truth = false, string text = null, List<JsonValue> items = null, List<KeyValuePair<string, JsonValue>> members = null)
        {
            this.kind = kind;
            this.truth = truth;
            this.text = text;
            this.items = items;
            this.members = members;
        }

        /// <summary>Returns an object without members.</summary>
        public static JsonValue Object()
        {
            return new JsonValue(Kind.Object, members: new List<KeyValuePair<string, JsonValue>>());
        }

        /// <summary>Returns a text; null is null.</summary>
        public static JsonValue Of(string value) { return value == null ? Null : new JsonValue(Kind.Text, text: value); }

        /// <summary>Returns true or false.</summary>
        public static JsonValue Of(bool value) { return new JsonValue(Kind.Bool, value); }

        /// <summary>Returns a number.</summary>
        public static JsonValue Of(long value) { return new JsonValue(Kind.Number, text: value.ToString(CultureInfo.InvariantCulture)); }

        /// <summary>Returns a number, which must be finite.</summary>
        public static JsonValue Of(double value)
        {
            if (double.IsNaN(value) || double.IsInfinity(value)) throw new ArgumentException("JSON has no number " + value.ToString(CultureInfo.InvariantCulture));
            return new JsonValue(Kind.Number, text: value.ToString("R", CultureInfo.InvariantCulture));
        }

        /// <summary>Returns a time, as text.</summary>
        public static JsonValue Of(DateTime value)
        {
            return Of(value.ToUniversalTime().ToString("yyyy-MM-dd'T'HH:mm:ss.FFFFFFF'Z'", CultureInfo.InvariantCulture));
        }

        /// <summary>Returns a list.</summary>
        public static JsonValue Of<T>(IEnumerable<T> values, Func<T, JsonValue> convert)
        {
            var items = new List<JsonValue>();
            foreach (var value in values) items.Add(convert(value));
            return new JsonValue(Kind.List, items: items);
        }

        /// <summary>Returns a list of texts.</summary>
        public static JsonValue Of(IEnumerable<string> values) { return Of(values, Of); }

        /// <summary>Returns an object with the members of a dictionary.</summary>
        public static JsonValue Of<T>(Dictionary<string, T> values, Func<T, JsonValue> convert)
        {
            var json = Object();
            foreach (var pair in values) json.Set(pair.Key, convert(pair.Value));
            return json;
        }

        /// <summary>Adds a member to an object, or replaces it, and returns the object.</summary>
        public JsonValue Set(string name, JsonValue value)
        {
            if (kind != Kind.Object) throw new InvalidOperationException("only an object has members");
            members.RemoveAll(m => m.Key == name);
            members.Add(new KeyValuePair<string, JsonValue>(name, value ?? Null));
            return this;
        }

        /// <summary>Reports whether it is null, or missing.</summary>
        public bool IsNull { get { return kind == Kind.Null; } }

        /// <summary>Reports whether it is an object.</summary>
        public bool IsObject { get { return kind == Kind.Object; } }

        /// <summary>Returns a member of an object; Null if there is none.</summary>
        public JsonValue this[string name]
        {
            get
            {
                if (kind == Kind.Object)
                    foreach (var member in members)
                        if (member.Key == name) return member.Value;
                return Null;
            }
        }

        /// <summary>Returns the members of an object, in order.</summary>
        public IEnumerable<KeyValuePair<string, JsonValue>> Members
        {
            get { return members ?? (IEnumerable<KeyValuePair<string, JsonValue>>)new KeyValuePair<string, JsonValue>[0]; }
        }

        /// <summary>Returns the items of a list.</summary>
        public IEnumerable<JsonValue> Items
        {
            get { return items ?? (IEnumerable<JsonValue>)new JsonValue[0]; }
        }

        /// <summary>Returns a text; null if it is something else.</summary>
        public string Text() { return kind == Kind.Text ? text : null; }

        /// <summary>Returns true or false; false if it is something else.</summary>
        public bool Bool() { return kind == Kind.Bool && truth; }

        /// <summary>Returns true or false; null if it is something else.</summary>
        public bool? BoolOrNull() { return kind == Kind.Bool ? truth : (bool?)null; }

        /// <summary>Returns a number; 0 if it is something else.</summary>
        public double Double() { return DoubleOrNull() ?? 0; }

        /// <summary>Returns a number; null if it is something else.</summary>
        public double? DoubleOrNull()
        {
            double value;
            if (kind != Kind.Number || !double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out value)) return null;
            return value;
        }

        /// <summary>Returns a whole number; 0 if it is something else.</summary>
        public long Long() { return LongOrNull() ?? 0; }

        /// <summary>Returns a whole number, without the digits after the point; null if it is something else.</summary>
        public long? LongOrNull()
        {
            long value;
            if (kind == Kind.Number && long.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out value)) return value;
            var number = DoubleOrNull();
            if (number == null || Math.Abs(number.Value) >= 9.2e18) return null;
            return (long)number.Value;
        }

        /// <summary>Returns a time in UTC; the zero time if it is something else.</summary>
        public DateTime Time() { return TimeOrNull() ?? default(DateTime); }

        /// <summary>Returns a time in UTC; null if it is something else.</summary>
        public DateTime? TimeOrNull()
        {
            DateTime time;
            const DateTimeStyles utc = DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal;
            if (kind != Kind.Text || !DateTime.TryParse(ShortFraction(text), CultureInfo.InvariantCulture, utc, out time)) return null;
            return time;
        }

        // ShortFraction cuts fractions of a second to the 7 digits that DateTime has.
        private static string ShortFraction(string time)
        {
            int point = time.IndexOf('.'), end = point + 1;
            if (point < 0) return time;
            while (end < time.Length && char.IsDigit(time[end])) end++;
            return end - point <= 8 ? time : time.Remove(point + 8, end - point - 8);
        }

        /// <summary>Returns the converted items of a list; an empty list if it is something else.</summary>
        public List<T> List<T>(Func<JsonValue, T> convert)
        {
            var all = new List<T>();
            foreach (var item in Items) all.Add(convert(item));
            return all;
        }

        /// <summary>Returns the converted members of an object; none if it is something else.</summary>
        public Dictionary<string, T> Map<T>(Func<JsonValue, T> convert)
        {
            var all = new Dictionary<string, T>();
            foreach (var member in Members) all[member.Key] = convert(member.Value);
            return all;
        }

        /// <summary>Parses JSON. It throws a FormatException that says where it is wrong.</summary>
        public static JsonValue Parse(string json)
        {
            var reader = new JsonReader(json);
            var value = reader.Value(0);
            reader.End();
            return value;
        }

        /// <summary>Returns the JSON.</summary>
        public override string ToString()
        {
            var b = new StringBuilder();
            Write(b);
            return b.ToString();
        }

        private void Write(StringBuilder b)
        {
            switch (kind)
            {
                case Kind.Null: b.Append("null"); break;
                case Kind.Bool: b.Append(truth ? "true" : "false"); break;
                case Kind.Number: b.Append(text); break;
                case Kind.Text: Quote(b, text); break;
                case Kind.List:
                    b.Append('[');
                    for (var i = 0; i < items.Count; i++)
                    {
                        if (i > 0) b.Append(',');
                        items[i].Write(b);
                    }
                    b.Append(']');
                    break;
                case Kind.Object:
                    b.Append('{');
                    for (var i = 0; i < members.Count; i++)
                    {
                        if (i > 0) b.Append(',');
                        Quote(b, members[i].Key);
                        b.Append(':');
                        members[i].Value.Write(b);
                    }
                    b.Append('}');
                    break;
            }
        }

        private static void Quote(StringBuilder b, string text)
        {
            b.Append('"');
            foreach (var c in text)
            {
                switch (c)
                {
                    case '"': b.Append("\\\""); break;
                    case '\\': b.Append("\\\\"); break;
                    case '\n': b.Append("\\n"); break;
                    case '\r': b.Append("\\r"); break;
                    case '\t': b.Append("\\t"); break;
                    default:
                        if (c < ' ' || char.IsSurrogate(c)) b.Append("\\u").Append(((int)c).ToString("x4", CultureInfo.InvariantCulture));
                        else b.Append(c);
                        break;
                }
            }
            b.Append('"');
        }

        // JsonReader parses one text (RFC 8259).
        private sealed class JsonReader
        {
            private const int MostDepth = 64;
            private readonly string json;
            private int at;

            internal JsonReader(string json) { this.json = json ?? ""; }

            internal void End()
            {
                Space();
                if (at < json.Length) throw Wrong("there is something after the value");
            }

            internal JsonValue Value(int depth)
            {
                if (depth > MostDepth) throw Wrong("it is nested too deeply");
                Space();
                if (at >= json.Length) throw Wrong("it ends too early");
                switch (json[at])
                {
                    case '{': return ReadObject(depth);
                    case '[': return ReadList(depth);
                    case '"': return Of(ReadText());
                    case 't': Word("true"); return Of(true);
                    case 'f': Word("false"); return Of(false);
                    case 'n': Word("null"); return Null;
                }
                return ReadNumber();
            }

            private JsonValue ReadObject(int depth)
            {
                var value = Object();
                at++;
                Space();
                if (Takes('}')) return value;
                do
                {
                    Space();
                    if (at >= json.Length || json[at] != '"') throw Wrong("a name is missing");
                    var name = ReadText();
                    Space();
                    if (!Takes(':')) throw Wrong("a colon is missing");
                    value.members.Add(new KeyValuePair<string, JsonValue>(name, Value(depth + 1)));
                    Space();
                } while (Takes(','));
                if (!Takes('}')) throw Wrong("the end of an object is missing");
                return value;
            }

            private JsonValue ReadList(int depth)
            {
                var items = new List<JsonValue>();
                at++;
                Space();
                if (Takes(']')) return new JsonValue(Kind.List, items: items);
                do
                {
                    items.Add(Value(depth + 1));
                    Space();
                } while (Takes(','));
                if (!Takes(']')) throw Wrong("the end of a list is missing");
                return new JsonValue(Kind.List, items: items);
            }

            private JsonValue ReadNumber()
            {
                var from = at;
                Takes('-');
                if (!Takes('0')) Digits();
                if (Takes('.')) Digits();
                if (Takes('e') || Takes('E'))
                {
                    if (!Takes('+')) Takes('-');
                    Digits();
                }
                return new JsonValue(Kind.Number, text: json.Substring(from, at - from));
            }

            private void Digits()
            {
                var from = at;
                while (at < json.Length && json[at] >= '0' && json[at] <= '9') at++;
                if (at == from) throw Wrong("this is no value");
            }

            private string ReadText()
            {
                var b = new StringBuilder();
                for (at++; at < json.Length; at++)
                {
                    var c = json[at];
                    if (c == '"')
                    {
                        at++;
                        return b.ToString();
                    }
                    if (c < ' ') throw Wrong("a text has a control character");
                    b.Append(c == '\\' ? Escape() : c);
                }
                throw Wrong("the end of a text is missing");
            }

            private char Escape()
            {
                if (++at >= json.Length) throw Wrong("it ends too early");
                switch (json[at])
                {
                    case '"': case '\\': case '/': return json[at];
                    case 'b': return '\b';
                    case 'f': return '\f';
                    case 'n': return '\n';
                    case 'r': return '\r';
                    case 't': return '\t';
                    case 'u':
                        ushort code;
                        if (at + 4 >= json.Length || !ushort.TryParse(json.Substring(at + 1, 4), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out code))
                            throw Wrong("four hexadecimal digits are missing");
                        at += 4;
                        return (char)code;
                }
                throw Wrong("this escape is not known");
            }

            private void Word(string word)
            {
                if (string.CompareOrdinal(json, at, word, 0, word.Length) != 0) throw Wrong("this is no value");
                at += word.Length;
            }

            private bool Takes(char c)
            {
                if (at >= json.Length || json[at] != c) return false;
                at++;
                return true;
            }

            private void Space()
            {
                while (at < json.Length && (json[at] == ' ' || json[at] == '\t' || json[at] == '\n' || json[at] == '\r')) at++;
            }

            private FormatException Wrong(string what)
            {
                return new FormatException("JSON at " + at.ToString(CultureInfo.InvariantCulture) + ": " + what);
            }
        }
    }
}
