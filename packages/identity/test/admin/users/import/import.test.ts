import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ImportedUser, maxImportedUsers } from '../../../../src/index.ts'
import { authorizeUrl, pkce, TestBrowser } from '../../../support/journey.ts'
import { administrators, call, consoleClient, tokenOf } from '../../../support/management/administrators.ts'
import { type Running, setup } from '../../../support/setup.ts'

const password = 'correct horse battery'
const hashes = {
  bcrypt: '$2b$05$lxydAvOb/a3roiIdTZDsGuXZ.p/9NVcwCCkFCSSmltrRl050hoFua',
  argon2i: '$argon2i$v=19$m=1024,t=2,p=2$MDEyMzQ1Njc4OWFiY2RlZg$20ORI84YU1HIi7wtXRK8OSgWii7dQnZZ',
  django: 'pbkdf2_sha256$1000$djangosalt$aX1Qi394+UFj0FScT2DL29ff7Z2hVGgCTFAQ5VTBv6w=',
  scrypt: '$scrypt$ln=10,r=8,p=1$Ueod41wL4TxnLEUoxbg3pg$ZKi8Ws4oC0XE4iuC6JsfDUNxBe5y6ThvapM26FxCKwc',
} as const

let running: Running
let owner: string
before(async () => {
  running = await setup({ declared: { clients: [consoleClient], users: [...administrators] } })
  owner = await tokenOf(running, 'gatehouse-owner')
})
after(() => running.close())

const importing = (users: readonly object[], token = owner) =>
  call(running, token, { method: 'POST', url: '/admin/v1/user-imports', payload: { users } })

/** The status of the answer to a sign-in: 303, or 401. */
async function signIn({ http, post }: Running, username: string, password: string): Promise<number> {
  const browser = new TestBrowser({ http, post })
  const { code_challenge } = pkce()
  const page = await browser.get(
    authorizeUrl({
      client_id: 'console',
      response_type: 'code',
      scope: 'openid',
      code_challenge,
      code_challenge_method: 'S256',
    }),
  )
  return (await browser.submit(page, { username, password })).status
}

async function storedHash(id: string): Promise<string | null> {
  const text = 'SELECT password_hash FROM identity.account WHERE id = $1'
  const { rows } = await running.database.query<{ password_hash: string | null }>(text, [id])
  return rows[0]?.password_hash ?? null
}

for (const [scheme, password_hash] of Object.entries(hashes))
  test(`a user with ${scheme} signs in with their password, and has argon2id from then on`, async () => {
    const user: ImportedUser = { id: `u-${scheme}`, email: `${scheme}@people.example`, password_hash }
    const imported = await importing([user])
    assert.deepEqual(imported.body, { results: [{ id: user.id, outcome: 'created' }] }, imported.text)
    assert.equal(await signIn(running, user.id, 'a wrong password here'), 401)
    assert.equal(await storedHash(user.id), password_hash, 'a wrong password replaces nothing')
    const both = await Promise.all([signIn(running, user.id, password), signIn(running, user.id, password)])
    assert.deepEqual(both, [303, 303], 'two first sign-ins at once')
    assert.match(String(await storedHash(user.id)), /^\$argon2id\$v=19\$m=64,t=1,p=1\$/)
    assert.equal(await signIn(running, user.id, password), 303)
    assert.equal(await signIn(running, user.id, 'a wrong password here'), 401)
  })

test('users who exist stay as they are, and each refusal names its reason and no hash', async () => {
  const hash = hashes.bcrypt
  const { body, status } = await importing([
    { id: 'kept', email: 'kept@people.example', password_hash: hash, roles: ['editor'], claims: { name: 'Kept' } },
    { id: 'kept', email: 'other@people.example' },
    { id: 'same-mail', email: 'KEPT@people.example' },
    { id: 'bomb', password_hash: hash.replace('$05$', '$31$') },
    { id: 'legacy', password_hash: '5f4dcc3b5aa765d61d8327deb882cf99' },
    { id: 'console' },
    { id: 'without' },
  ])
  assert.equal(status, 200)
  const results = body.results as ReadonlyArray<{ id: string; outcome: string; reason?: string }>
  assert.deepEqual(
    results.map(({ id, outcome }) => `${id} ${outcome}`),
    [
      'kept created',
      'kept exists',
      'same-mail refused',
      'bomb refused',
      'legacy refused',
      'console refused',
      'without created',
    ],
  )
  assert.match(results[2]?.reason ?? '', /the email belongs to another user/)
  assert.match(results[3]?.reason ?? '', /bcrypt must have a cost of 4 to 14, the hash names 31/)
  assert.match(results[4]?.reason ?? '', /must be argon2, bcrypt, PBKDF2 or scrypt/)
  assert.ok(!JSON.stringify(body).includes(hash.slice(8)) && !JSON.stringify(body).includes('5f4dcc3b'))
  const { body: kept } = await call(running, owner, { method: 'GET', url: '/admin/v1/users/kept' })
  assert.equal(kept.email, 'kept@people.example')
  assert.equal(kept.email_verified, false)
  assert.deepEqual(kept.roles, ['editor'])
  assert.equal(await storedHash('without'), null)
  assert.equal(await signIn(running, 'without', ''), 401)
})

test('the whole request is refused when a member is invalid, and every fault is named', async () => {
  const { status, text } = await importing([{ id: 'fine' }, { id: 'not an id' }, { id: 'x', password: 'secret' }])
  assert.equal(status, 400)
  assert.match(text, /users\/1\/id/)
  assert.match(text, /users\/2\/password/)
  assert.equal(await storedHash('fine'), null)
  const many = Array.from({ length: maxImportedUsers + 1 }, (_, index) => ({ id: `m${index}` }))
  assert.equal((await importing(many)).status, 400)
})

test('an administrator imports nobody with a role that they could not assign', async () => {
  const operator = await tokenOf(running, 'gatehouse-operator')
  assert.equal((await importing([{ id: 'mole', roles: ['gatehouse-owner'] }], operator)).status, 403)
  const found = await call(running, owner, { method: 'GET', url: '/admin/v1/users/mole' })
  assert.equal(found.status, 404)
})
