{"url": "u", "text": "t"}
ï»¿{"url": "v", "text": "t"}
ÿ
