/* Signs a page with the default features and scheme, as Fingerprinter does by NumPy, bit for bit.

   NumPy's way is the reference: what each step is for is said there, in the module that is named above it.
   Bytes come in and go out. Nothing here trusts them: any bytes give some signature or a ValueError. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <float.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "Ranks of words need doubles that are rounded after each step, as NumPy's are."
#endif

enum { VERSION = 4 }; /* of features.py */

/* Bytes of a part: places have 32 bits, and for each byte there is some room, of less than 128 bytes. */
#define LARGEST (PY_SSIZE_T_MAX / 1024 < INT32_MAX ? PY_SSIZE_T_MAX / 1024 : INT32_MAX)

/* hashing.py, murmur.py */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xFF51AFD7ED558CCD;
    x ^= x >> 33;
    x *= 0xC4CEB9FE1A85EC53;
    return x ^ x >> 33;
}

static uint64_t rotate(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

static uint64_t word(const uint8_t *at)
{
    uint32_t low = at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
    uint32_t high = at[4] | at[5] << 8 | at[6] << 16 | (uint32_t)at[7] << 24;
    return low | (uint64_t)high << 32;
}

static uint64_t scramble(uint64_t x, uint64_t before, int bits, uint64_t after)
{
    return rotate(x * before, bits) * after;
}

/* The first 64 bits of MurmurHash3_x64_128. `left` bytes can be read from `at` on, `size` of them are hashed. */
static uint64_t hash(const uint8_t *at, size_t size, size_t left, uint64_t seed)
{
    const uint64_t a = 0x87C37B91114253D5, b = 0x4CF5AD432745937F;
    uint64_t one = seed, two = seed;
    size_t rest = size;
    for (; rest >= 16; rest -= 16, left -= 16, at += 16) {
        one = (rotate(one ^ scramble(word(at), a, 31, b), 27) + two) * 5 + 0x52DCE729;
        two = (rotate(two ^ scramble(word(at + 8), b, 33, a), 31) + one) * 5 + 0x38495AB5;
    }
    uint64_t low = 0, high = 0;
    if (left >= 16) { /* the usual case: read on, and leave out what comes after */
        low = word(at);
        high = rest > 8 ? word(at + 8) & (((uint64_t)1 << (rest - 8) * 8) - 1) : 0;
        if (rest < 8)
            low &= ((uint64_t)1 << rest * 8) - 1;
    } else {
        for (size_t i = rest; i > 8; i--)
            high = high << 8 | at[i - 1];
        for (size_t i = rest < 8 ? rest : 8; i > 0; i--)
            low = low << 8 | at[i - 1];
    }
    one ^= scramble(low, a, 31, b) ^ size;
    two ^= scramble(high, b, 33, a) ^ size;
    one += two;
    two += one;
    return mix(one) + mix(two);
}

/* Sorts by the byte at `shift` and those below, in time that is linear for any values. */
static void sort_from(uint64_t *values, uint64_t *spare, size_t count, int shift)
{
    enum { FEW = 32 };
    size_t ends[257] = {0};
    if (count > FEW) {
        for (size_t i = 0; i < count; i++)
            ends[(values[i] >> shift & 255) + 1]++;
        for (int i = 0; i < 256; i++)
            ends[i + 1] += ends[i];
        for (size_t i = 0; i < count; i++) /* what was the start of each part becomes its end */
            spare[ends[values[i] >> shift & 255]++] = values[i];
        memcpy(values, spare, count * sizeof *values);
        for (size_t i = 0, start = 0; i < 256; start = ends[i++])
            if (ends[i] - start > FEW && shift > 0)
                sort_from(values + start, spare, ends[i] - start, shift - 8);
    }
    for (size_t i = 1; i < count; i++) { /* now each value is less than FEW places from its own */
        uint64_t value = values[i];
        size_t to = i;
        for (; to > 0 && values[to - 1] > value; to--)
            values[to] = values[to - 1];
        values[to] = value;
    }
}

static void sort(uint64_t *values, uint64_t *spare, size_t count) { sort_from(values, spare, count, 56); }

/* Sorts, and leaves one of each; returns how many there are. */
static size_t unique(uint64_t *values, uint64_t *spare, size_t count)
{
    size_t kept = 0;
    sort(values, spare, count);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || values[i] != values[i - 1])
            spare[kept++] = values[i];
    memcpy(values, spare, kept * sizeof *values);
    return kept;
}

/* tokens.py, terms.py */

enum { OTHER, WORD, DIGIT, HAN, SYLLABLE, MARK };
enum { CODE_POINTS = 0x110000 };

typedef struct {
    uint64_t hash;
    uint32_t start, end;
    uint8_t number, unspaced, syllable;
} Token;

typedef struct {
    const uint8_t *text;
    size_t size;
    Token *tokens;
    size_t room, count, unspaced, syllables;
} Terms;

/* Reads the character of UTF-8 at `at`; returns where the next one begins. */
static size_t read_character(const uint8_t *text, size_t size, size_t at, uint32_t *point)
{
    uint8_t first = text[at++];
    size_t more = first < 0xC0 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    *point = more ? first & (0x3F >> more) : first;
    for (; more > 0 && at < size; more--)
        *point = *point << 6 | (text[at++] & 0x3F);
    return at;
}

static int is_in_word(uint8_t kind) { return kind == WORD || kind == DIGIT; }

/* Returns 0 if there is no room for so many tokens, as there is for those of any text and its true classes. */
static int tokenise(Terms *terms, const uint8_t *classes, uint64_t seed)
{
    const uint8_t *text = terms->text;
    const size_t size = terms->size;
    Token *token = terms->tokens, *const end = token + terms->room;
    uint8_t before = OTHER;
    for (size_t at = 0, start = 0; start <= size; start = at) {
        uint32_t point = 0;
        at = start < size ? read_character(text, size, start, &point) : size + 1;
        uint8_t kind = start < size && point < CODE_POINTS ? classes[point] : OTHER;
        uint8_t script = kind == DIGIT ? WORD : kind == MARK ? before : kind;
        int single = kind == HAN || kind == SYLLABLE;
        if (script != before || single) {
            if (before != OTHER) {
                token->end = (uint32_t)start;
                token->hash = hash(text + token->start, start - token->start, size - token->start, seed);
                terms->unspaced += token->unspaced;
                terms->syllables += token->syllable;
                token++;
            }
            if (script != OTHER) {
                if (token == end)
                    return 0;
                *token = (Token){0, (uint32_t)start, 0, 0, (uint8_t)single, kind == SYLLABLE};
            }
            before = script;
        }
        if (script == WORD) { /* most characters are ASCII, within words */
            int number = kind == DIGIT;
            for (; at < size && text[at] < 0x80 && is_in_word(classes[text[at]]); at++)
                number |= classes[text[at]] == DIGIT;
            token->number |= (uint8_t)number;
        }
    }
    terms->count = (size_t)(token - terms->tokens);
    return 1;
}

static size_t weighed_count(const Terms *terms) { return terms->count - terms->unspaced / 2; }

static uint64_t roll(uint64_t rolled, uint64_t hashed) { return mix(rolled * 0x9E3779B97F4A7C15 + hashed); }

/* Lengthens a shingle of `from` tokens to one of `to`. */
static uint64_t roll_on(uint64_t rolled, const Token *token, size_t from, size_t to)
{
    for (; from < to; from++)
        rolled = roll(rolled, token[from].hash);
    return rolled;
}

/* keywords.py, simhash.py */

static void rank(const size_t *lengths, uint64_t *ranks)
{
    int64_t words = 0, as_long = 0;
    for (int i = 1; i <= 64; i++)
        words += (int64_t)lengths[i];
    for (int i = 1; i <= 64; i++) {
        as_long += (int64_t)lengths[i];
        double share = (double)(2 * as_long - (int64_t)lengths[i]) / (double)(2 * (words ? words : 1));
        double part = (share - 0.4) / (0.6 - 0.4);
        ranks[i] = (uint64_t)((part < 0 ? 0 : part > 1 ? 1 : part) * 16);
    }
    ranks[0] = 16;
}

/* Says how many keys are made: hashes of words, or of pairs of characters, their ranks in the lowest bits. */
static size_t rank_words(const Terms *terms, uint64_t *keys)
{
    size_t lengths[65] = {0}, count = 0;
    uint64_t ranks[65];
    const Token *tokens = terms->tokens;
    for (int pass = 0; pass < 2; pass++) {
        int paired = 0; /* with the token before */
        for (size_t i = 0; i < terms->count; i++) {
            int pairs = i + 1 < terms->count && tokens[i].unspaced && tokens[i + 1].unspaced;
            size_t length = tokens[i].end - tokens[i].start;
            length = length < 64 ? length : 64;
            if (pass == 0) {
                lengths[length] += !pairs && !paired;
            } else {
                if (pairs)
                    keys[count++] = (roll(tokens[i].hash, tokens[i + 1].hash) & ~(uint64_t)31) | ranks[0];
                else if (!paired && ranks[length])
                    keys[count++] = (tokens[i].hash & ~(uint64_t)31) | ranks[length];
            }
            paired = pairs;
        }
        if (pass == 0)
            rank(lengths, ranks);
    }
    return count;
}

static uint64_t square_root(uint64_t value)
{
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 31; bit; bit >>= 1)
        if ((root + bit) * (root + bit) <= value)
            root += bit;
    return root;
}

/* What the weights are cut to. */
static uint64_t most_weight(const uint64_t *weights, size_t count)
{
    uint64_t greatest[3] = {0}, rest = 0, share = 4;
    for (size_t i = 0; i < count; i++) {
        uint64_t weight = weights[i];
        rest += weight * weight;
        for (int place = 0; place < 3; place++)
            if (weight > greatest[place]) {
                uint64_t smaller = greatest[place];
                greatest[place] = weight;
                weight = smaller;
            }
    }
    for (int i = 0; i < 3 && greatest[i] && share * greatest[i] * greatest[i] > rest; i++, share--)
        rest -= greatest[i] * greatest[i];
    uint64_t most = square_root(rest / share);
    return most ? most : 1;
}

static uint64_t vote(const uint64_t *keys, const uint64_t *weights, size_t count)
{
    /* Weights are added up for each value of each byte, and then for the values that have a bit set. */
    uint64_t sums[8][256] = {{0}}, total = 0, fingerprint = 0, most = most_weight(weights, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t weight = weights[i] < most ? weights[i] : most, value = mix(keys[i] >> 5);
        total += weight;
        for (int byte = 0; byte < 8; byte++)
            sums[byte][value >> byte * 8 & 255] += weight;
    }
    for (int byte = 0; byte < 8; byte++)
        for (int bit = 7; bit >= 0; bit--) {
            uint64_t ayes = 0, *low = sums[byte], *high = low + (1 << bit);
            for (int i = 0; i < 1 << bit; i++) {
                ayes += high[i];
                low[i] += high[i];
            }
            fingerprint |= (uint64_t)(ayes * 2 > total) << (byte * 8 + bit);
        }
    return fingerprint;
}

static uint64_t fingerprint(const Terms *terms, uint64_t *keys, uint64_t *spare)
{
    size_t count = rank_words(terms, keys), kept = 0;
    sort(keys, spare, count);
    for (size_t start = 0, stop; start < count; start = stop) {
        for (stop = start + 1; stop < count && keys[stop] == keys[start];)
            stop++;
        uint64_t times = stop - start < 127 ? stop - start : 127;
        spare[kept] = times * times * (keys[start] & 31);
        keys[kept++] = keys[start];
    }
    return vote(keys, spare, kept);
}

/* sketch.py, anchors.py */

enum { BINS = 768, LENDERS = 64, ANCHORS = 8 };

static uint16_t lenders[BINS][LENDERS];

static void put_bit(uint8_t *bits, size_t place, int bit) { bits[place >> 3] |= (uint8_t)(bit << (7 - (place & 7))); }

/* Returns how many distinct shingles there are. */
static size_t sketch(uint8_t *bits, uint64_t *shingles, uint64_t *spare, size_t count)
{
    uint64_t minima[BINS] = {0}, next[BINS], after;
    uint8_t filled[BINS] = {0};
    if (!(count = unique(shingles, spare, count)))
        return 0;
    for (size_t i = count; i-- > 0;) {
        uint64_t high = shingles[i] >> 32, low = shingles[i] & 0xFFFFFFFF;
        size_t bin = (size_t)((high * BINS + (low * BINS >> 32)) >> 32);
        minima[bin] = shingles[i];
        filled[bin] = 1;
    }
    after = shingles[count - 1];
    for (int bin = BINS - 1; bin >= 0; bin--)
        next[bin] = after = filled[bin] ? minima[bin] : after;
    for (int bin = 0; bin < BINS; bin++) {
        uint64_t value = minima[bin];
        if (!filled[bin]) {
            int asked = 0;
            while (asked < LENDERS && !filled[lenders[bin][asked]])
                asked++;
            value = asked < LENDERS ? minima[lenders[bin][asked]] : next[lenders[bin][0]];
            value >>= bin % 31 + 1;
        }
        bits[bin / 8] = (uint8_t)(bits[bin / 8] << 1 | (value & 1));
    }
    return count;
}

/* Makes the shingles of the sketch, and the anchors; returns how many shingles there are. */
static size_t shingle(const Terms *terms, uint64_t *shingles, uint8_t *keys)
{
    static const size_t sizes[2][2] = {{5, 8}, {6, 12}}; /* of words and characters, for sketch and anchors */
    uint64_t least[ANCHORS];
    size_t count = 0;
    memset(least, 0xFF, sizeof least);
    for (size_t i = 0; i < terms->count; i++) {
        const Token *token = terms->tokens + i;
        const size_t *size = sizes[token->unspaced];
        size_t left = terms->count - i;
        uint64_t rolled = token->hash;
        /* If there are fewer tokens in all, all of them make one shingle. */
        if (left < size[0] && i > 0)
            continue;
        rolled = roll_on(rolled, token, 1, left < size[0] ? left : size[0]);
        shingles[count++] = rolled;
        if (left < size[1] && i > 0)
            continue;
        if (left > size[0])
            rolled = roll_on(rolled, token, size[0], left < size[1] ? left : size[1]);
        if (rolled < least[rolled >> 40 & (ANCHORS - 1)])
            least[rolled >> 40 & (ANCHORS - 1)] = rolled;
    }
    for (int i = 0; i < ANCHORS * 8; i++)
        keys[i] = (uint8_t)(least[i / 8] >> i % 8 * 8);
    return count;
}

/* filters.py, details.py */

enum { WEIGHT = 3, SMALL = 2, FEW_TOKENS = 120 };

typedef struct {
    int width, hashes; /* a filter has 1 << width bits */
    size_t most;
} Filter;

static const Filter NUMBERS = {8, 1, 300}, TITLE = {7, 3, 30}, FIGURES = {7, 1, 120}, WORDS = {8, 1, 300};

static void filter(uint8_t *bits, Filter kind, uint64_t *values, uint64_t *spare, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = mix(values[i]);
    if (count > kind.most) {
        count = unique(values, spare, count);
        count = count < kind.most ? count : kind.most;
    }
    for (size_t i = 0; i < count; i++)
        for (int part = 0; part < kind.hashes; part++)
            put_bit(bits, values[i] >> part * kind.width & (((size_t)1 << kind.width) - 1), 1);
}

static size_t numbers(const Terms *terms, uint64_t *values)
{
    size_t count = 0;
    for (size_t i = 0; i < terms->count; i++)
        if (terms->tokens[i].number)
            values[count++] = terms->tokens[i].hash;
    return count;
}

static size_t figures(const Terms *terms, uint64_t *values)
{
    size_t count = 0, parts = 0, bytes = 0;
    uint64_t figure = 0;
    const Token *before = NULL;
    for (size_t i = 0; i <= terms->count; i++) {
        const Token *token = terms->tokens + i;
        if (i < terms->count && !token->number)
            continue;
        int joined = before && i < terms->count && token->start == before->end + 1 && terms->text[before->end] > ' ';
        if (before && !joined) {
            values[count++] = figure;
            for (uint64_t more = 1; more < WEIGHT && (parts > 1 || bytes > SMALL); more++)
                values[count++] = mix(figure + more);
            figure = parts = 0;
        }
        if (i < terms->count) {
            figure += mix(token->hash + (joined ? before->hash << 1 : 0));
            bytes = token->end - token->start;
            parts++;
            before = token;
        }
    }
    return count;
}

static size_t words(const Terms *terms, uint64_t *values)
{
    size_t count = 0;
    for (size_t i = 0; i < terms->count; i++) {
        const Token *token = terms->tokens + i;
        if (!token->number && !token->syllable)
            values[count++] = token->hash;
        else if (token->syllable && i + 1 < terms->count && token[1].syllable)
            values[count++] = roll(token->hash, token[1].hash);
    }
    return count;
}

/* fingerprinter.py */

typedef struct {
    uint64_t fingerprint;
    size_t tokens, shingles;
    int unspaced;
    uint8_t sketch[BINS / 8], numbers[32], title[16], figures[16], words[32], keys[ANCHORS * 8];
} Signature;

/* `values` and `spare` have room for a value of each token, for WEIGHT of them of each token of the details, and
   for `told`, the hashes of the occasion. */
static void sign(Signature *made, const Terms *main, const Terms *details, const Terms *title, const uint8_t *told,
                 size_t told_count, uint64_t *values, uint64_t *spare)
{
    size_t count;
    memset(made, 0, sizeof *made);
    made->tokens = weighed_count(main);
    made->unspaced = main->unspaced > made->tokens;
    made->fingerprint = fingerprint(main, values, spare);
    count = shingle(main, values, made->keys);
    made->shingles = sketch(made->sketch, values, spare, count);
    filter(made->numbers, NUMBERS, values, spare, numbers(main, values));
    for (count = 0; count < title->count; count++)
        values[count] = title->tokens[count].hash;
    filter(made->title, TITLE, values, spare, count);
    count = figures(details, values);
    for (size_t i = 0; i < told_count; i++)
        values[count++] = word(told + i * 8);
    filter(made->figures, FIGURES, values, spare, count);
    count = words(details, values);
    if (made->tokens <= FEW_TOKENS)
        count += words(main, values + count);
    filter(made->words, WORDS, values, spare, count);
}

PyDoc_STRVAR(sign_doc, "Sign a page: see kernel.py.");

static PyObject *kernel_sign(PyObject *module, PyObject *arguments)
{
    Terms parts[3] = {{0}};
    const char *texts[3], *classes, *told;
    Py_ssize_t sizes[3], class_count, told_size;
    unsigned int seed;
    size_t tokens = 0, at = 0;
    int fits = 1;
    Signature made;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y#y#y#y#Iy#", &texts[0], &sizes[0], &texts[1], &sizes[1], &texts[2], &sizes[2],
                          &classes, &class_count, &seed, &told, &told_size))
        return NULL;
    if (class_count != CODE_POINTS || told_size > LARGEST || told_size % 8) {
        PyErr_SetString(PyExc_ValueError, "A class of each code point is needed, and hashes of 8 bytes.");
        return NULL;
    }
    for (int i = 0; i < 3; i++) {
        if (sizes[i] > LARGEST) {
            PyErr_SetString(PyExc_ValueError, "The text is too long.");
            return NULL;
        }
        /* A token of one byte has another character after it, and others have two bytes or more. */
        parts[i].room = (size_t)sizes[i] / 2 + 1;
        tokens += parts[i].room;
    }
    size_t values = tokens + (WEIGHT - 1) * parts[1].room + (size_t)told_size / 8;
    Token *room = malloc(tokens * sizeof(Token) + 2 * values * sizeof(uint64_t));
    if (!room)
        return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS
    for (int i = 0; i < 3 && fits; at += parts[i++].room) {
        parts[i].text = (const uint8_t *)texts[i];
        parts[i].size = (size_t)sizes[i];
        parts[i].tokens = room + at;
        fits = tokenise(&parts[i], (const uint8_t *)classes, seed);
    }
    if (fits) {
        uint64_t *first = (uint64_t *)(room + tokens);
        sign(&made, &parts[0], &parts[1], &parts[2], (const uint8_t *)told, (size_t)told_size / 8, first,
             first + values);
    }
    free(room);
    Py_END_ALLOW_THREADS
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "These are no classes of characters.");
        return NULL;
    }
    return Py_BuildValue("Knniy#y#y#y#y#y#", (unsigned long long)made.fingerprint, (Py_ssize_t)made.tokens,
                         (Py_ssize_t)made.shingles, made.unspaced, made.sketch, (Py_ssize_t)sizeof made.sketch,
                         made.numbers, (Py_ssize_t)sizeof made.numbers, made.title, (Py_ssize_t)sizeof made.title,
                         made.figures, (Py_ssize_t)sizeof made.figures, made.words, (Py_ssize_t)sizeof made.words,
                         made.keys, (Py_ssize_t)sizeof made.keys);
}

static PyMethodDef methods[] = {{"sign", kernel_sign, METH_VARARGS, sign_doc}, {NULL, NULL, 0, NULL}};

static int prepare(PyObject *module)
{
    for (uint64_t i = 0; i < BINS * LENDERS; i++)
        lenders[i / LENDERS][i % LENDERS] = (uint16_t)(mix(i + 1) % BINS);
    return PyModule_AddIntConstant(module, "VERSION", VERSION);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)prepare}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_kernel", .m_size = 0, .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit__kernel(void) { return PyModuleDef_Init(&definition); }
