/* CHAP: who proves what to whom, and in which order. */
#include "chap.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <string.h>

#include "conf.h"

struct algorithm {
	const char *number;		/* as in CHAP_A (IANA, PPP authentication algorithms) */
	const char *digest;		/* as OpenSSL calls it */
	unsigned len;
};

static const struct algorithm algorithms[] = {
	[CHAP_MD5] = { "5", "MD5", 16 },
	[CHAP_SHA1] = { "6", "SHA1", 20 },
	[CHAP_SHA256] = { "7", "SHA256", 32 },
	[CHAP_SHA3_256] = { "8", "SHA3-256", 32 },
};

/*
 * All challenges of this process that wait for their response. A peer that
 * sends one of them as its own wants us to compute the response that it cannot
 * (12.1.3: reflection). Members live in their logins, so the list needs no
 * memory and is as long as there are logins.
 */
static pthread_mutex_t outstanding_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list outstanding = LIST_INIT(outstanding);

static void
challenge_remember(struct chap *ch)
{
	pthread_mutex_lock(&outstanding_lock);
	list_add_tail(&outstanding, &ch->link);
	pthread_mutex_unlock(&outstanding_lock);
}

static void
challenge_forget(struct chap *ch)
{
	pthread_mutex_lock(&outstanding_lock);
	list_del(&ch->link);
	pthread_mutex_unlock(&outstanding_lock);
}

/* A challenge read as one big number: zeros in front do not make it another. */
static bool
same_challenge(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
	for (; a_len > 0 && *a == 0; a++)
		a_len--;
	for (; b_len > 0 && *b == 0; b++)
		b_len--;
	return a_len == b_len && memcmp(a, b, a_len) == 0;
}

static bool
challenge_is_ours(const uint8_t *c, size_t len)
{
	const struct chap *ch;
	bool ours = false;

	pthread_mutex_lock(&outstanding_lock);
	list_for_each(ch, &outstanding, link)
		ours |= same_challenge(ch->challenge, ch->challenge_len, c, len);
	pthread_mutex_unlock(&outstanding_lock);
	return ours;
}

void
chap_init(struct chap *ch)
{
	memset(ch, 0, sizeof(*ch));
	list_init(&ch->link);
}

void
chap_fini(struct chap *ch)
{
	challenge_forget(ch);
	OPENSSL_cleanse(ch, sizeof(*ch));
	list_init(&ch->link);
}

bool
chap_keys_take(struct chap_keys *k, const struct text_pair *p)
{
	static const char letters[] = "ANRIC";
	const char **slot[] = { &k->a, &k->n, &k->r, &k->i, &k->c };
	const char *at;

	if (strncmp(p->key, "CHAP_", 5) != 0 || p->key[5] == '\0' || p->key[6] != '\0')
		return false;
	at = strchr(letters, p->key[5]);
	if (at == NULL || *slot[at - letters] != NULL)
		return false;
	*slot[at - letters] = p->value;
	return true;
}

unsigned
chap_digest(int alg, uint8_t id, const char *secret, const uint8_t *challenge, size_t len,
    uint8_t out[CHAP_DIGEST_MAX])
{
	EVP_MD *md = EVP_MD_fetch(NULL, algorithms[alg].digest, NULL);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned n = 0;

	if (md == NULL || ctx == NULL || EVP_DigestInit_ex(ctx, md, NULL) != 1 ||
	    EVP_DigestUpdate(ctx, &id, 1) != 1 ||
	    EVP_DigestUpdate(ctx, secret, strlen(secret)) != 1 ||
	    EVP_DigestUpdate(ctx, challenge, len) != 1 || EVP_DigestFinal_ex(ctx, out, &n) != 1)
		n = 0;
	EVP_MD_CTX_free(ctx);
	EVP_MD_free(md);
	return n;
}

/* The first of the initiator's list that the configuration allows (12.1.3). -1: none. */
static int
algorithm_choose(const char *list, const struct conf_words *allowed)
{
	const char *item;
	size_t len;
	int i;

	while (text_item(&list, &item, &len))
		for (i = 0; i < allowed->n; i++)
			if (text_is(item, len, algorithms[allowed->v[i]].number))
				return allowed->v[i];
	return -1;
}

static enum chap_verdict
chap_challenge(struct chap *ch, const struct conf_auth *auth, const struct chap_keys *k,
    struct text_out *out, const char **why)
{
	if (k->n != NULL || k->r != NULL || k->i != NULL || k->c != NULL || k->a == NULL) {
		*why = "CHAP does not begin with CHAP_A";
		return CHAP_MALFORMED;
	}
	ch->alg = algorithm_choose(k->a, &auth->algorithms);
	if (ch->alg < 0) {
		*why = "no algorithm of CHAP_A is allowed";
		return CHAP_MALFORMED;
	}
	/* As long as the digest: what it can carry, and what every initiator takes. */
	ch->challenge_len = algorithms[ch->alg].len;
	if (RAND_bytes(&ch->id, 1) != 1 || RAND_bytes(ch->challenge, (int)ch->challenge_len) != 1) {
		*why = "no random numbers for the CHAP challenge";
		return CHAP_UNABLE;
	}
	challenge_remember(ch);
	text_put(out, "CHAP_A", algorithms[ch->alg].number);
	text_put_number(out, "CHAP_I", ch->id);
	text_put_hex(out, "CHAP_C", ch->challenge, ch->challenge_len);
	ch->state = CHAP_WANT_RESPONSE;
	return CHAP_GOES_ON;
}

static enum chap_verdict
chap_verify(struct chap *ch, const struct conf_auth *auth, const struct chap_keys *k,
    const char **why)
{
	uint8_t want[CHAP_DIGEST_MAX], got[CHAP_CHALLENGE_MAX];
	size_t len = 0;
	unsigned n;
	bool same;
	int rc;

	rc = text_binary(k->r, got, sizeof(got), &len);
	if (rc == -EINVAL) {
		*why = "CHAP_R is no binary value";
		return CHAP_MALFORMED;
	}
	n = chap_digest(ch->alg, ch->id, auth->secret, ch->challenge, ch->challenge_len, want);
	if (n == 0) {
		*why = "the CHAP digest cannot be computed";
		return CHAP_UNABLE;
	}
	same = rc == 0 && len == n && CRYPTO_memcmp(got, want, n) == 0;
	OPENSSL_cleanse(want, sizeof(want));
	/* 12.1.3: the name is text, also when it looks like a number. */
	if (strcmp(k->n, auth->user) != 0) {
		*why = "unknown CHAP user";
		return CHAP_FAILED;
	}
	*why = "wrong CHAP response";
	return same ? CHAP_GOES_ON : CHAP_FAILED;
}

/* The target's own proof, given only to an initiator that has proved itself. */
static enum chap_verdict
chap_prove(struct chap *ch, const struct conf_auth *auth, const uint8_t *challenge, size_t len,
    uint64_t id, struct text_out *out, const char **why)
{
	uint8_t own[CHAP_DIGEST_MAX];
	unsigned n;

	if (auth->mutual_user == NULL || auth->mutual_secret == NULL) {
		*why = "the initiator wants the target's proof, and no mutual secret is configured";
		return CHAP_FAILED;
	}
	n = chap_digest(ch->alg, (uint8_t)id, auth->mutual_secret, challenge, len, own);
	if (n == 0) {
		*why = "the CHAP digest cannot be computed";
		return CHAP_UNABLE;
	}
	text_put(out, "CHAP_N", auth->mutual_user);
	text_put_hex(out, "CHAP_R", own, n);
	OPENSSL_cleanse(own, sizeof(own));
	return CHAP_GOES_ON;
}

static enum chap_verdict
chap_response(struct chap *ch, const struct conf_auth *auth, const struct chap_keys *k,
    struct text_out *out, const char **why)
{
	uint8_t challenge[CHAP_CHALLENGE_MAX];
	enum chap_verdict v;
	uint64_t id = 0;
	size_t len = 0;

	if (k->a != NULL || k->n == NULL || k->r == NULL || (k->i == NULL) != (k->c == NULL)) {
		*why = "CHAP_N and CHAP_R, or CHAP_I or CHAP_C, are missing";
		return CHAP_MALFORMED;
	}
	if (k->c != NULL && (text_number(k->i, 255, &id) != 0 ||
	    text_binary(k->c, challenge, sizeof(challenge), &len) != 0)) {
		*why = "CHAP_I or CHAP_C is malformed";
		return CHAP_MALFORMED;
	}
	if (k->c != NULL && challenge_is_ours(challenge, len)) {
		*why = "CHAP challenge of this target sent back to it";
		return CHAP_FAILED;
	}
	v = chap_verify(ch, auth, k, why);
	if (v == CHAP_GOES_ON && k->c != NULL)
		v = chap_prove(ch, auth, challenge, len, id, out, why);
	if (v == CHAP_GOES_ON)
		ch->state = CHAP_PROVED;
	return v;
}

enum chap_verdict
chap_step(struct chap *ch, const struct conf_auth *auth, const struct chap_keys *k,
    struct text_out *out, const char **why)
{
	enum chap_verdict v = CHAP_MALFORMED;

	if (k->a == NULL && k->n == NULL && k->r == NULL && k->i == NULL && k->c == NULL)
		return CHAP_GOES_ON;
	switch (ch->state) {
	case CHAP_WANT_ALGORITHM:
		v = chap_challenge(ch, auth, k, out, why);
		break;
	case CHAP_WANT_RESPONSE:
		v = chap_response(ch, auth, k, out, why);
		/* One try each challenge. */
		challenge_forget(ch);
		break;
	case CHAP_PROVED:
	case CHAP_OVER:
		*why = "CHAP keys after CHAP was over";
		break;
	}
	if (v != CHAP_GOES_ON)
		ch->state = CHAP_OVER;
	return v;
}
