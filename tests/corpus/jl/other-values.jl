5
null
[]
"a"
{"url": {"a": 1}, "text": [1, null]}
{"url": [], "text": []}
{"text": {"text": {"text": "t"}}}
