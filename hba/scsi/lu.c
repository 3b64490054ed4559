/* Logical units: geometry, and an identity that is the same by every path and for ever. */
#include "lu.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "conf.h"
#include "log.h"

#include "fence.h"
#include "mode.h"
#include "nexus.h"
#include "reserve.h"
#include "sanitize.h"
#include "ua.h"

enum { NAA_LOCAL = 0x3, DIGEST_LEN = 32 };	/* SPC-4 7.8.6.6.4: NAA locally assigned */

const char lu_vendor[LU_VENDOR_LEN + 1] = "SLUICE  ";

static struct list lus = LIST_INIT(lus);

/*
 * 60 bits of a hash of all that names the disk: a given serial number, or the
 * names of adapter and disk in full, so that names that are long and begin
 * alike still differ (and a disk keeps its identity when others come or go).
 */
static int
lu_identify(struct lu *lu, const struct conf_disk *conf)
{
	char seed[1024];
	size_t at = 0;
	uint8_t digest[DIGEST_LEN];

	if (conf->serial)
		text_add(seed, sizeof(seed), &at, "serial %s", conf->serial);
	else
		text_add(seed, sizeof(seed), &at, "disk %s %s", conf->adapter->name, conf->name);
	if (!EVP_Digest(seed, at, digest, NULL, EVP_sha256(), NULL))
		return -ENOMEM;
	memcpy(lu->naa, digest, LU_NAA_LEN);
	lu->naa[0] = (uint8_t)(NAA_LOCAL << 4 | (digest[0] & 0xf));

	at = 0;
	if (conf->serial)
		text_add(lu->serial, sizeof(lu->serial), &at, "%s", conf->serial);
	for (unsigned i = 0; !conf->serial && i < LU_NAA_LEN * 2; i++)
		text_add(lu->serial, sizeof(lu->serial), &at, "%02x", digest[i]);
	return 0;
}

/* Printable ASCII, filled up with spaces (SPC-4 4.3.1). */
static void
text_pad(char *to, unsigned len, const char *from)
{
	memset(to, ' ', len);
	to[len] = '\0';
	for (unsigned i = 0; i < len && from[i]; i++)
		to[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
}

static void
lu_shape(struct lu *lu, const struct conf_disk *conf)
{
	const struct disk *disk = lu->disk;
	uint32_t phys;

	lu->block_size = disk->online ? disk->block_size : conf->block_size;
	if (!lu->block_size)
		lu->block_size = 512;
	lu->shift = (uint8_t)__builtin_ctz(lu->block_size);
	lu->max_blocks = BUF_XFER_MAX >> lu->shift;
	if (!disk->online)
		return;
	lu->blocks = disk->size >> lu->shift;
	for (phys = disk->phys_size; phys > lu->block_size && lu->phys_exponent < 15; phys >>= 1)
		lu->phys_exponent++;
	lu->write_cache = disk->caps & DISK_CAP_WRITE_CACHE;
	lu->fua = disk->caps & DISK_CAP_FUA;
	lu->read_only = conf->read_only || disk->caps & DISK_CAP_READ_ONLY;
	lu->thin = disk->caps & DISK_CAP_UNMAP;
	lu->thin_zeroes = lu->thin && disk->caps & DISK_CAP_UNMAP_ZEROES;
}

static struct lu *
lu_new(const struct conf_disk *conf, struct disk *disk)
{
	struct lu *lu = calloc(1, sizeof(*lu));

	if (!lu)
		return NULL;
	lu->disk = disk;
	list_init(&lu->link);
	list_init(&lu->nluns);
	list_init(&lu->orphans);
	list_init(&lu->locks);
	list_init(&lu->locked);
	pthread_mutex_init(&lu->lock, NULL);
	text_pad(lu->product, LU_PRODUCT_LEN, conf->name);
	text_pad(lu->revision, LU_REVISION_LEN, SLUICE_VERSION);
	lu_shape(lu, conf);
	return lu;
}

static void
lu_free(struct lu *lu)
{
	if (!lu)
		return;
	list_del(&lu->link);
	pr_fini(&lu->pr);
	pthread_mutex_destroy(&lu->lock);
	free(lu);
}

/* Two disks with one identity would be one disk to a multipath host. */
static int
lu_unique(const struct lu *lu, const struct conf_disk *conf)
{
	struct lu *other;

	list_for_each(other, &lus, link) {
		if (memcmp(other->naa, lu->naa, LU_NAA_LEN) != 0)
			continue;
		log_err("%s:%d: disk %s has the serial number of disk %s: "
		    "a host takes them for one", conf->pos.file, conf->pos.line, conf->name,
		    other->disk->name);
		return -EEXIST;
	}
	return 0;
}

int
lu_get(const struct conf_disk *conf, struct lu **out)
{
	struct disk *disk = disk_find(conf->name);
	struct lu *lu;
	int r;

	if (!disk) {
		log_err("%s:%d: there is no disk %s", conf->pos.file, conf->pos.line, conf->name);
		return -ENOENT;
	}
	list_for_each(lu, &lus, link) {
		if (lu->disk == disk) {
			*out = lu;
			return 0;
		}
	}
	lu = lu_new(conf, disk);
	if (!lu)
		return -ENOMEM;
	r = lu_identify(lu, conf);
	if (r == 0)
		r = lu_unique(lu, conf);
	if (r < 0) {
		lu_free(lu);
		return r;
	}
	reserve_load(lu);
	list_add_tail(&lus, &lu->link);
	*out = lu;
	return 0;
}

struct lu *
lu_next(struct lu *lu)
{
	struct list *l = lu ? lu->link.next : lus.next;

	return l == &lus ? NULL : list_entry(l, struct lu, link);
}

void
lus_free(void)
{
	while (!list_empty(&lus))
		lu_free(list_first(&lus, struct lu, link));
}

void
lu_attach(struct lu *lu, struct nexus_lun *nlun)
{
	pthread_mutex_lock(&lu->lock);
	list_add_tail(&lu->nluns, &nlun->link);
	fence_inherit(lu, nlun);
	reserve_inherit(lu, nlun);
	sanitize_inherit(lu, nlun);
	mode_values_inherit(lu, nlun);
	pthread_mutex_unlock(&lu->lock);
}

void
lu_detach(struct nexus_lun *nlun)
{
	struct lu *lu = nlun->lu;

	pthread_mutex_lock(&lu->lock);
	list_del(&nlun->link);
	reserve_forget(lu, nlun);
	pthread_mutex_unlock(&lu->lock);
}

void
lu_attention(struct lu *lu, unsigned ua, const struct nexus *except)
{
	struct nexus_lun *nlun;

	pthread_mutex_lock(&lu->lock);
	list_for_each(nlun, &lu->nluns, link)
		if (nlun->nexus != except)
			ua_raise(nlun, (enum ua)ua);
	pthread_mutex_unlock(&lu->lock);
}

void
lu_was_reset(struct lu *lu)
{
	reserve_reset(lu);
	mode_values_reset(lu);
	lu_attention(lu, UA_LU_RESET, NULL);
}
