/* CHAP entries, and secrets in files. */
#include "tests/unit/conf/files.h"

#define SHORT "fewer than 12 bytes can be guessed (RFC 7143 9.2.1)\n"

static const struct said table[] = {
	{ "auth: []", "" },
	{ "auth: {}", "t:1:7: auth: expected a list, found a map\n" },
	{ "auth: [{}]", "t:1:8: an auth: name is missing\nt:1:8: an auth: user is missing\n"
	    "t:1:8: an auth: secret or secret_file is missing\n" },
	{ "auth: [{ name: a, user: u, secret: 123456789012 }]", "" },
	{ "auth: [{ name: none, user: u, secret: 123456789012 }]",
	    "t:1:16: name: none is reserved\n" },
	{ "auth: [{ name: a, user: u, secret: 12345678901 }]",
	    "t:1:36: warning: secret: " SHORT },
	{ "auth: [{ name: a, user: u, secret: \"\" }]",
	    "t:1:36: secret: expected 1 to 255 bytes of text, found 0\n" },
	{ "auth: [{ name: a, user: u, secret: [x] }]",
	    "t:1:36: secret: expected a text, found a list\n" },
	{ "auth: [{ name: a, user: u, secret: 123456789012, secret_file: f }]",
	    "t:1:50: secret_file and secret exclude each other\n" },
	{ "auth: [{ name: a, user: u, secret: 123456789012, mutual_user: t }]",
	    "t:1:8: an auth: mutual_secret or mutual_secret_file is missing\n" },
	{ "auth: [{ name: a, user: u, secret: 123456789012, mutual_secret: 210987654321 }]",
	    "t:1:8: an auth: mutual_user is missing\n" },
	{ "auth: [{ name: a, user: u, secret: 123456789012, mutual_user: t, "
	    "mutual_secret: 123456789012 }]",
	    "t:1:8: secret and mutual_secret must differ (RFC 7143 9.2.1)\n" },
	{ "auth: [{ name: a, user: u, secret: 123456789012, mutual_user: t, "
	    "mutual_secret: 210987654321 }]", "" },
	{ "auth: [{ name: a, user: u, secret: 123456789012, algorithms: [] }]",
	    "t:1:62: algorithms: the list is empty\n" },
	{ "auth: [{ name: a, user: u, secret: 123456789012, algorithms: [md5, sha512, md5] }]",
	    "t:1:68: algorithms: expected one of sha3-256, sha256, sha1, md5, found \"sha512\"\n"
	    "t:1:76: algorithms: md5 is here twice\n" },
	{ "auth:\n- { name: a, user: u, secret: 123456789012 }\n"
	    "- { name: a, user: u, secret: 123456789012 }\n",
	    "t:3:11: auth \"a\" is used twice, first at t:2:11\n" },
	{ "auth: [{ name: a, user: u, secret: 123456789012, group: 1 }]",
	    "t:1:50: unknown key \"group\" (an auth takes name, user, secret, mutual_user, "
	    "mutual_secret, algorithms, secret_file, mutual_secret_file)\n" },
};

static void
what_is_refused(void **state)
{
	check_said(table, ARRAY_LEN(table));
}

/* What is in the file, how it may be read, and what comes of it. */
static const struct {
	const char *text;
	mode_t mode;
	const char *secret;		/* NULL: refused */
	const char *wrong;
} files[] = {
	{ "123456789012", 0600, "123456789012", "" },
	{ "123456789012\n", 0400, "123456789012", "" },
	{ "123456789012\r\n", 0600, "123456789012", "" },
	{ " 1234567890 \n", 0600, " 1234567890 ", "" },
	{ "12345678901\n", 0600, "12345678901",
	    "conf.yaml:1:41: warning: secret: " SHORT },
	{ "123456789012\n", 0640, NULL, "is open to group or others; chmod 600 it" },
	{ "123456789012\n", 0604, NULL, "is open to group or others; chmod 600 it" },
	{ "123456789012\n", 0620, NULL, "is open to group or others; chmod 600 it" },
	{ "123456789012\n", 0644, NULL, "is open to group or others; chmod 600 it" },
	{ "", 0600, NULL, "holds no secret" },
	{ "\n", 0600, NULL, "holds no secret" },
	{ "123456789012\n\n", 0600, NULL, "holds more than one line, or a NUL byte" },
	{ "123456789012\nx", 0600, NULL, "holds more than one line, or a NUL byte" },
};

static void
secrets_in_files(void **state)
{
	char *errors, want[256];
	struct conf *conf;

	file_write("conf.yaml", "auth: [{ name: a, user: u, secret_file: secret }]\n", 0644);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		unlink("secret");
		file_write("secret", files[i].text, files[i].mode);
		conf = files_load("conf.yaml", NULL, &errors);
		assert_int_equal(!!conf, !!files[i].secret);
		if (conf)
			assert_string_equal(list_first(&conf->auths, struct conf_auth, link)->secret,
			    files[i].secret);
		snprintf(want, sizeof(want), conf ? "%s" :
		    "conf.yaml:1:41: secret_file: \"secret\": %s\n", files[i].wrong);
		assert_string_equal(errors, want);
		free(errors);
		conf_free(conf);
	}
}

static void
secret_files_are_bounded(void **state)
{
	char text[300] = { 0 }, *errors;
	struct conf *conf;

	for (size_t len = 253; len < 260; len++) {
		unlink("secret");
		memset(text, 'x', len);
		strcpy(text + len, "\n");
		file_write("secret", text, 0600);
		conf = files_load("conf.yaml", NULL, &errors);
		assert_int_equal(!!conf, len <= 255);
		assert_string_equal(errors, conf ? "" : "conf.yaml:1:41: secret_file: \"secret\": "
		    "is longer than a secret and a newline\n");
		free(errors);
		conf_free(conf);
	}
}

static void
secret_files_that_are_none(void **state)
{
	static const char no_file[] = "conf.yaml:1:41: secret_file: \"secret\": "
	    "No such file or directory\n";
	static const char other[] = "conf.yaml:1:41: secret_file: \"secret\": is no regular file\n";

	unlink("secret");
	files_say("conf.yaml", NULL, no_file);
	assert_int_equal(mkdir("secret", 0700), 0);
	files_say("conf.yaml", NULL, other);
	rmdir("secret");
	assert_int_equal(mkfifo("secret", 0600), 0);
	files_say("conf.yaml", NULL, other);
	unlink("secret");
	assert_int_equal(symlink("/dev/zero", "secret"), 0);
	files_say("conf.yaml", NULL, other);
	unlink("secret");
}

/* From the folder of the file that names it; a secret in the clear is warned of where others can read it. */
static void
where_secrets_are(void **state)
{
	mkdir("sub", 0700);
	file_write("sub/secret", "123456789012\n", 0600);
	file_write("sub/conf.yaml", "auth: [{ name: a, user: u, secret_file: secret, mutual_user: t,\n"
	    "  mutual_secret_file: ../other }]\n", 0600);
	file_write("other", "210987654321\n", 0600);
	file_write("all.yaml", "include: sub/conf.yaml\n"
	    "auth: [{ name: b, user: u, secret: 123456789012 }]\n", 0644);
	files_say("all.yaml", NULL,
	    "all.yaml:2:28: warning: secret: others than the owner may read this file\n");
	chmod("all.yaml", 0600);
	files_say("all.yaml", NULL, "");
	file_write("other", "123456789012", 0600);
	files_say("all.yaml", NULL,
	    "sub/conf.yaml:1:8: secret and mutual_secret must differ (RFC 7143 9.2.1)\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(secrets_in_files),
		cmocka_unit_test(secret_files_are_bounded),
		cmocka_unit_test(secret_files_that_are_none),
		cmocka_unit_test(where_secrets_are),
	};

	return cmocka_run_group_tests(tests, files_begin, files_end);
}
