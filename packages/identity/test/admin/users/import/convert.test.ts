import assert from 'node:assert/strict'
import { test } from 'node:test'
import { convertUser } from '../../../../src/index.ts'
import { PasswordHasher } from '../../../../src/passwords/hasher.ts'

const password = 'correct horse battery'
const passwords = new PasswordHasher()
const bcrypt = '$2b$05$lxydAvOb/a3roiIdTZDsGuXZ.p/9NVcwCCkFCSSmltrRl050hoFua'
const salt = 'c2l4dGVlbiBieXRlIHNsdA=='

const hashOf = (user: object) => ('password_hash' in user ? String(user.password_hash) : assert.fail('no hash'))

test('users of Auth0 are converted from its bulk import and from its export', async () => {
  const listed = convertUser(
    { user_id: 'auth0|5f7c', email: 'ada@people.example', email_verified: true, name: 'Ada', password_hash: bcrypt },
    undefined,
    {},
  )
  assert.deepEqual(listed, {
    id: 'auth0:5f7c',
    email: 'ada@people.example',
    email_verified: true,
    password_hash: bcrypt,
    claims: { name: 'Ada' },
  })
  const exported = convertUser({ _id: { $oid: '60425dc43519d90068f82973' }, passwordHash: bcrypt }, undefined, {})
  assert.equal(hashOf(exported), bcrypt)
  const custom = { algorithm: 'argon2', hash: { value: '$argon2id$v=19$m=1024,t=2,p=2$c2FsdHNhbHQ$aGFzaA' } }
  assert.equal(hashOf(convertUser({ user_id: 'a', custom_password_hash: custom }, 'auth0', {})), custom.hash.value)
})

test('users of Keycloak are converted with argon2 and with PBKDF2', async () => {
  const argon2 = {
    type: 'password',
    secretData: JSON.stringify({
      value: 'npVmp7rgwGftgPsZJ79Gc+v3TMbOCEyRES4St1auksc=',
      salt: 'a2V5Y2xvYWstc2FsdC0xNg==',
    }),
    credentialData: JSON.stringify({
      algorithm: 'argon2',
      hashIterations: 5,
      additionalParameters: {
        hashLength: ['32'],
        memory: ['7168'],
        type: ['id'],
        version: ['1.3'],
        parallelism: ['1'],
      },
    }),
  }
  const pbkdf2 = {
    type: 'password',
    secretData: JSON.stringify({
      value: 'BPSBiMRCLXvj9N4HkHzjXyirzlSCXs6rdn8AbsoL8zsvyc7/iCpSm5No0JTY6AZW+K4pili1Rk+Aq20n1VQsqg==',
      salt,
    }),
    credentialData: JSON.stringify({ algorithm: 'pbkdf2-sha256', hashIterations: 27_500 }),
  }
  const user = { id: '1f0c', username: 'Ada', emailVerified: true, firstName: 'Ada', lastName: 'Bee' }
  for (const credential of [argon2, pbkdf2]) {
    const converted = convertUser({ ...user, credentials: [{ type: 'otp' }, credential] }, undefined, {})
    const { password_hash, ...rest } = converted as { password_hash: string }
    assert.equal(await passwords.verify(password, password_hash), true, password_hash)
    const claims = { name: 'Ada Bee', given_name: 'Ada', family_name: 'Bee' }
    assert.deepEqual(rest, { id: '1f0c', username: 'Ada', email_verified: true, claims })
  }
  const unknown = { ...pbkdf2, credentialData: JSON.stringify({ algorithm: 'bespoke' }) }
  assert.throws(() => convertUser({ credentials: [unknown] }, undefined, {}), /algorithm "bespoke" cannot be imported/)
  assert.throws(
    () => convertUser({ credentials: [{ type: 'password', secretData: '{' }] }, undefined, {}),
    /secretData of the credential must be JSON/,
  )
})

test('users of Firebase need the parameters of their project, unless they have no password', async () => {
  const user = {
    localId: 'uid1',
    email: 'ada@people.example',
    displayName: 'Ada',
    passwordHash: 'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
    salt: '42xEC+ixf3L2lw==',
  }
  assert.throws(() => convertUser(user, undefined, {}), /hash parameters of the Firebase project are required/)
  const firebase = {
    signerKey: 'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==',
    saltSeparator: 'Bw==',
    rounds: 8,
    memCost: 14,
  }
  assert.equal(await passwords.verify('user1password', hashOf(convertUser(user, undefined, { firebase }))), true)
  assert.deepEqual(convertUser({ localId: 'uid2', phoneNumber: '+41445550100' }, 'firebase', {}), {
    id: 'uid2',
    email_verified: false,
    claims: { phone_number: '+41445550100' },
  })
})
