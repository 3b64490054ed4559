"""CHAP from the initiator's side (RFC 7143 12.1, RFC 1994)."""
import base64
import hashlib
import os

HASH = {5: hashlib.md5, 6: hashlib.sha1, 7: hashlib.sha256, 8: hashlib.sha3_256}


def digest(alg, ident, secret, challenge):
    secret = secret if isinstance(secret, bytes) else secret.encode()
    return HASH[alg](bytes([ident]) + secret + challenge).digest()


def decode(value):
    """A binary value of a text key: hex or base64."""
    if value[:2] in ('0x', '0X'):
        digits = value[2:]
        return bytes.fromhex(digits if len(digits) % 2 == 0 else '0' + digits)
    assert value[:2] in ('0b', '0B'), 'neither hex nor base64: %r' % value
    return base64.b64decode(value[2:], validate=True)


def encode(data):
    return '0x' + data.hex()


class Chap:
    """
    What an initiator knows. user and secret prove it to the target; with
    mutual_user and mutual_secret it asks the target to prove itself too.
    """

    def __init__(self, user, secret, algs='5', mutual_user=None, mutual_secret=None, challenge=None):
        self.user, self.secret, self.algs = user, secret, algs
        self.mutual_user, self.mutual_secret = mutual_user, mutual_secret
        self.challenge = challenge or os.urandom(16)
        self.ident = os.urandom(1)[0]

    def answer(self, keys):
        """The keys that follow the target's CHAP_A, CHAP_I and CHAP_C."""
        alg = int(keys['CHAP_A'])
        self.alg = alg
        reply = digest(alg, int(keys['CHAP_I']), self.secret, decode(keys['CHAP_C']))
        out = {'CHAP_N': self.user, 'CHAP_R': encode(reply)}
        if self.mutual_user is not None:
            out['CHAP_I'] = self.ident
            out['CHAP_C'] = encode(self.challenge)
        return out

    def verify(self, keys):
        """The target's own proof, in the answer after ours."""
        if self.mutual_user is None:
            assert 'CHAP_R' not in keys, 'a proof that nobody asked for'
            return
        assert keys.get('CHAP_N') == self.mutual_user, 'target says it is %r' % keys.get('CHAP_N')
        want = digest(self.alg, self.ident, self.mutual_secret, self.challenge)
        assert decode(keys['CHAP_R']) == want, 'the target does not know its secret'
