import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatFirebaseHash } from '../../../src/passwords/formats/scrypt.ts'
import { PasswordHasher } from '../../../src/passwords/hasher.ts'

const password = 'correct horse battery'
const passwords = new PasswordHasher({ maxConcurrent: 2 })

/** Made by other implementations: bcrypt, argon2-cffi, hashlib and passlib of Python. */
const made: Readonly<Record<string, string>> = {
  'bcrypt 2b': '$2b$05$lxydAvOb/a3roiIdTZDsGuXZ.p/9NVcwCCkFCSSmltrRl050hoFua',
  'bcrypt 2a': '$2a$05$tz2YvGvJ1hBi8oL5Y9ohbu16DvNRfrCgTdIltecx/M7wL0Ie1oJRa',
  'bcrypt 2y': '$2y$05$lxydAvOb/a3roiIdTZDsGuXZ.p/9NVcwCCkFCSSmltrRl050hoFua',
  argon2id: '$argon2id$v=19$m=1024,t=2,p=2$MDEyMzQ1Njc4OWFiY2RlZg$dHI8Ue0BlA5xY+xHqnIMNZ2IjHaOFgk1',
  argon2i: '$argon2i$v=19$m=1024,t=2,p=2$MDEyMzQ1Njc4OWFiY2RlZg$20ORI84YU1HIi7wtXRK8OSgWii7dQnZZ',
  argon2d: '$argon2d$v=19$m=1024,t=2,p=2$MDEyMzQ1Njc4OWFiY2RlZg$HxH1vDJyED/fsvasD8W1Wcjtaxtfzstt',
  'PBKDF2 with SHA-1':
    '$pbkdf2-sha1$i=1000$c2l4dGVlbiBieXRlIHNsdA$75uF7K20zlxCzZS+gwq60qO4mYZYH7T4NBxS84DM/Nf/6GWh74M/1OeSFdvgA+5dN0J8WP/+QKVOoWKfwDiOBA',
  'PBKDF2 with SHA-256':
    '$pbkdf2-sha256$i=1000$c2l4dGVlbiBieXRlIHNsdA$FR9Zs8h7eX6Y7D3B+m3Zepk5DP6mMXNac85I63StulHzD6Ad0u/iIWPdg0lRAGUpIVBWO8Ri/5pzsPsQIoo7Tg',
  'PBKDF2 with SHA-512':
    '$pbkdf2-sha512$i=1000$c2l4dGVlbiBieXRlIHNsdA$Tj5z9hHrYR3tv7KUJ47c/uZpatr6cbKP7dyUdqoKDDSOc2iRsi1RAX1hXmMassi3D0+7HqSN/qoLrSu/ul/49w',
  'PBKDF2 of Django': 'pbkdf2_sha256$1000$djangosalt$aX1Qi394+UFj0FScT2DL29ff7Z2hVGgCTFAQ5VTBv6w=',
  'PBKDF2 of passlib': '$pbkdf2-sha256$1000$cGFzc2xpYvv//nNhbHQx$5eiSOVVtQ12zn7Q3B6hVll4ye..x1P1IHVXL7qSwW0o',
  'PBKDF2 of passlib with SHA-1': '$pbkdf2$1000$NSZkTOkdg7B2LuV8j5GS0g$3DTteXqbHVn2Zy5tP531PYo50RA',
  scrypt: '$scrypt$ln=10,r=8,p=1$Ueod41wL4TxnLEUoxbg3pg$ZKi8Ws4oC0XE4iuC6JsfDUNxBe5y6ThvapM26FxCKwc',
}

for (const [scheme, hash] of Object.entries(made))
  test(`${scheme} admits the right password alone, and is to be replaced`, async () => {
    assert.equal(await passwords.verify(password, hash), true)
    for (const wrong of ['', 'correct horse batterz', `${password} `])
      assert.equal(await passwords.verify(wrong, hash), false, wrong)
    assert.equal(passwords.isOutdated(hash), true)
    const own = await passwords.hash(password)
    assert.equal(passwords.isOutdated(own), false)
    assert.equal(await passwords.verify(password, own), true)
  })

/** The example of Firebase's own implementation (github.com/firebase/scrypt). */
const firebaseParameters = {
  signerKey: 'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==',
  saltSeparator: 'Bw==',
  rounds: 8,
  memCost: 14,
}
const firebaseHash = 'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=='

test('a hash of Firebase admits the right password alone, and contains no key of the project', async () => {
  const hash = formatFirebaseHash(firebaseHash, '42xEC+ixf3L2lw==', firebaseParameters)
  assert.equal(await passwords.verify('user1password', hash), true)
  assert.equal(await passwords.verify('user2password', hash), false)
  assert.ok(!hash.includes(firebaseParameters.signerKey.slice(0, 20)))
})

test('a password with accents is found in the form that it was hashed in and in the normal form', async () => {
  const decomposed = '$2b$04$I1tuGVD4V9ReQ1Wvfx4WeO9NYSvUJkw0oCYiJ89Mk1SdsAz6BjtR6'
  assert.equal(await passwords.verify('Zürich im März'.normalize('NFD'), decomposed), true)
  const own = await passwords.hash('Zürich im März')
  for (const form of ['NFC', 'NFD'] as const)
    assert.equal(await passwords.verify('Zürich im März'.normalize(form), own), true, form)
})

test('after 72 bytes bcrypt reads no further, and the hash that replaces it does', async () => {
  const hash = '$2b$04$5Hsu7tTmZZ/55C3j3ixZQu4OupUbVYNmyuUQ1LS7IuY2vVxu77GVS'
  const whole = `${'x'.repeat(72)} and a tail`
  assert.equal(await passwords.verify(whole, hash), true)
  const own = await passwords.hash(whole)
  assert.equal(await passwords.verify(whole, own), true)
  assert.equal(await passwords.verify(`${'x'.repeat(72)} and another`, own), false)
})

const salt = 'c2l4dGVlbiBieXRlIHNsdA'
const digest = 'dHI8Ue0BlA5xY+xHqnIMNZ2IjHaOFgk1'

test('a hash that would cost too much, or is not readable, matches nothing', async () => {
  for (const hash of [
    `$argon2id$v=19$m=262145,t=2,p=1$${salt}$${digest}`,
    `$argon2id$v=19$m=1024,t=11,p=1$${salt}$${digest}`,
    `$argon2id$v=19$m=1024,t=2,p=17$${salt}$${digest}`,
    `$argon2id$v=16$m=1024,t=2,p=1$${salt}$${digest}`,
    `$argon2id$v=19$m=1024,t=2,p=1$${salt}$c2hvcnQ`,
    `$2b$15$lxydAvOb/a3roiIdTZDsGuXZ.p/9NVcwCCkFCSSmltrRl050hoFua`,
    `$2x$05$lxydAvOb/a3roiIdTZDsGuXZ.p/9NVcwCCkFCSSmltrRl050hoFua`,
    `$pbkdf2-sha256$i=2000001$${salt}$${digest}`,
    `$pbkdf2-md5$i=1000$${salt}$${digest}`,
    `$scrypt$ln=20,r=8,p=1$${salt}$${digest}`,
    `$scrypt$ln=14,r=8,p=5$${salt}$${digest}`,
    '5f4dcc3b5aa765d61d8327deb882cf99',
    '',
  ])
    assert.equal(await passwords.verify(password, hash), false, hash)
})
