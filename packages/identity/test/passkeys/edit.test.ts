import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Authenticator } from '../support/factors/authenticator.ts'
import { editPasskey, passkeyIds, registerPasskey, signInByPasskey } from '../support/factors/passkeys.ts'
import { clients, TestBrowser, users } from '../support/journey.ts'
import { setup, setupOnce, type TestResponse } from '../support/setup.ts'

const running = setupOnce({ declared: { clients, users } })

const failure = (response: TestResponse) => /role="alert">([^<]+)</.exec(response.text)?.[1]

/** A browser of the user, who has passkeys on these authenticators. */
async function withPasskeys(user: 'alice' | 'bob', ...authenticators: Authenticator[]) {
  await running.database.query('DELETE FROM identity.passkey WHERE user_id = $1', [user])
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'), user, users.find(({ id }) => id === user)?.password)
  for (const authenticator of authenticators) await registerPasskey(browser, authenticator)
  return { browser, ids: await passkeyIds(browser) }
}

test('a passkey is renamed', async () => {
  const { browser, ids } = await withPasskeys('alice', new Authenticator())
  const renamed = await editPasskey(browser, ids[0] ?? '', { decision: 'rename', name: '  Work laptop ' })
  assert.equal(renamed.headers.location, '/account/passkeys')
  assert.match((await browser.get('/account/passkeys')).text, /<strong>Work laptop<\/strong>/)
  const empty = await editPasskey(browser, ids[0] ?? '', { decision: 'rename', name: ' ' })
  assert.equal(failure(empty), 'Enter a name.')
})

test('a removed passkey signs nobody in, and the device learns which ones are left', async () => {
  const removed = new Authenticator()
  const kept = new Authenticator()
  const { browser, ids } = await withPasskeys('alice', removed, kept)
  const accepted = async () =>
    /data-accepted-passkeys="([^"]+)"/.exec((await browser.get('/account/passkeys')).text)?.[1]
  assert.ok((await accepted())?.includes(removed.id))
  await editPasskey(browser, ids[0] ?? '', { decision: 'remove' })
  assert.deepEqual(await passkeyIds(browser), ids.slice(1))
  assert.ok(!(await accepted())?.includes(removed.id))
  assert.ok((await accepted())?.includes(kept.id))
  const other = new TestBrowser(running)
  assert.equal((await signInByPasskey(other, await other.get('/account'), removed)).status, 401)
  assert.equal((await signInByPasskey(other, await other.get('/account'), kept)).status, 303)
})

test('nobody lists, renames or removes the passkeys of another user', async () => {
  const { browser: bob, ids } = await withPasskeys('bob', new Authenticator())
  const { browser: alice } = await withPasskeys('alice', new Authenticator())
  const id = ids[0] ?? ''
  assert.ok(!(await passkeyIds(alice)).includes(id))
  assert.equal((await alice.get(`/account/passkeys/edit?id=${id}`)).status, 404)
  const own = await alice.get(`/account/passkeys/edit?id=${(await passkeyIds(alice))[0]}`)
  const { form_token = '' } = { form_token: /name="form_token" value="([^"]+)"/.exec(own.text)?.[1] }
  for (const decision of ['rename', 'remove']) {
    const response = await alice.post('/account/passkeys/edit', { form_token, id, decision, name: 'Mine' })
    assert.equal(response.status, 404)
  }
  assert.deepEqual(await passkeyIds(bob), ids)
  assert.doesNotMatch((await bob.get('/account/passkeys')).text, /Mine/)
})

for (const id of ['', 'x', "' OR true", '00000000-0000-0000-0000-000000000000']) {
  test(`the id ${id || 'that is missing'} leads to no passkey`, async () => {
    const { browser } = await withPasskeys('alice', new Authenticator())
    assert.equal((await browser.get(`/account/passkeys/edit?id=${encodeURIComponent(id)}`)).status, 404)
  })
}

test('the last way to sign in is not removed', async () => {
  const { browser, ids } = await withPasskeys('bob', new Authenticator(), new Authenticator())
  await running.database.query("UPDATE identity.account SET password_hash = NULL WHERE id = 'bob'")
  const [first = '', second = ''] = ids
  assert.equal((await editPasskey(browser, first, { decision: 'remove' })).status, 303)
  const last = await editPasskey(browser, second, { decision: 'remove' })
  assert.equal(last.status, 409)
  assert.match(failure(last) ?? '', /only way to sign in/)
  assert.deepEqual(await passkeyIds(browser), [second])
})

test('the last passkey is not removed where a factor is required, and the last but one is', async (t) => {
  const { browser, ids } = await withPasskeys('alice', new Authenticator(), new Authenticator())
  const strict = await setup({ declared: { clients, users }, mfa: 'required' }, running.database)
  t.after(() => strict.close())
  const same = new TestBrowser(strict)
  for (const [name, value] of browser.cookies) same.cookies.set(name, value)
  strict.clock.set(running.clock.now())
  assert.equal((await editPasskey(same, ids[0] ?? '', { decision: 'remove' })).status, 303)
  const refused = await editPasskey(same, ids[1] ?? '', { decision: 'remove' })
  assert.equal(refused.status, 409)
  assert.match(failure(refused) ?? '', /must keep a second step/)
  assert.deepEqual(await passkeyIds(browser), ids.slice(1))
})

test('a change needs a recent sign-in by the passkey, which leads back to it', async () => {
  const authenticator = new Authenticator()
  const { browser, ids } = await withPasskeys('alice', authenticator)
  const id = ids[0] ?? ''
  const page = await browser.get(`/account/passkeys/edit?id=${id}`)
  running.clock.advance(5 * 60_000 + 1)
  for (const decision of ['rename', 'remove']) {
    const response = await browser.submit(page, { decision, name: 'Stolen' })
    assert.match(response.text, /action="\/login"/)
  }
  assert.deepEqual(await passkeyIds(browser), ids)
  const after = await browser.signIn(await browser.get(`/account/passkeys/edit?id=${id}`))
  assert.match(after.text, /action="\/login\/passkey"/, 'a password alone is not enough')
  const resumed = await signInByPasskey(browser, after, authenticator)
  assert.match((await browser.follow(resumed)).text, new RegExp(`name="id" value="${id}"`))
})

test('a password alone adds no second passkey, and reaches no level by one', async () => {
  await withPasskeys('alice', new Authenticator())
  const thief = new TestBrowser(running)
  await thief.signIn(await thief.get('/account'))
  const page = await thief.get('/account/passkeys/new')
  assert.doesNotMatch(page.text, /data-passkey="create"/)
  assert.match(page.text, /action="\/login\/passkey"/)
  const { rows } = await running.database.query(
    "SELECT amr FROM identity.session WHERE user_id = 'alice' ORDER BY seen_at",
  )
  assert.deepEqual(rows.at(-1), { amr: ['pwd'] })
})

test('a removed passkey voids what was verified before it', async () => {
  const { browser, ids } = await withPasskeys('alice', new Authenticator())
  const version = async () =>
    (await running.database.query("SELECT credential_version FROM identity.account WHERE id = 'alice'")).rows[0]
  const before = await version()
  await editPasskey(browser, ids[0] ?? '', { decision: 'remove' })
  assert.notDeepEqual(await version(), before)
})

test('a change without the token of the form is rejected', async () => {
  const { browser, ids } = await withPasskeys('alice', new Authenticator())
  const response = await browser.post('/account/passkeys/edit', { id: ids[0] ?? '', decision: 'remove' })
  assert.equal(response.status, 403)
})

test('changes are audited', async () => {
  const { browser, ids } = await withPasskeys('alice', new Authenticator())
  const id = ids[0] ?? ''
  await editPasskey(browser, id, { decision: 'rename', name: 'Key ring' })
  await editPasskey(browser, id, { decision: 'remove' })
  const { rows } = await running.database.query(
    `SELECT type, actor, subject, details FROM identity.audit_event WHERE details->>'passkey' = $1
       AND type IN ('passkey_renamed', 'passkey_removed') ORDER BY id`,
    [id],
  )
  const facts = { actor: 'alice', subject: 'alice', details: { passkey: id, name: 'Key ring' } }
  assert.deepEqual(rows, [
    { type: 'passkey_renamed', ...facts },
    { type: 'passkey_removed', ...facts },
  ])
})
