{"url": "http://\ud800/", "text": "a\udfff b", "title": "\ud83d"}
