import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { decodeJwt } from 'jose'
import { getTokens, hiddenFields, type TestBrowser } from '../support/journey.ts'
import {
  introspect,
  type Organizations,
  password,
  send,
  setupOrganizations,
  signedIn,
} from '../support/management/organizations.ts'
import type { TestResponse } from '../support/setup.ts'

let running: Organizations
before(async () => {
  running = await setupOrganizations()
})
after(() => running.close())

const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
const scope = 'openid offline_access read:invoices write:invoices'

async function begin(more: Record<string, string> = {}) {
  const { body } = await running.post('/device_authorization', { client_id: 'terminal', scope, ...more })
  return body as { device_code: string; user_code: string }
}

async function enter(browser: TestBrowser, user_code: string): Promise<TestResponse> {
  return browser.submit(await browser.get(`/device?user_code=${user_code}`), { user_code })
}

async function poll(device_code: string, client_id: string = 'terminal') {
  running.clock.advance(5_000)
  return running.post('/token', { grant_type, device_code, client_id })
}

const refresh = (refresh_token: unknown) =>
  running.post('/token', { grant_type: 'refresh_token', refresh_token: String(refresh_token), client_id: 'terminal' })

let owner: Promise<string> | undefined
async function manage(method: string, path: string, payload?: object): Promise<void> {
  const options = { client: 'console', scope: 'openid admin:organizations', user: ['owner', password] as const }
  owner ??= getTokens(running, options).then(({ access_token }) => access_token ?? assert.fail('no token'))
  const response = await send(running, await owner, method, `/admin/v1/organizations${path}`, payload)
  assert.ok(response.status < 300, response.text)
}

test('a device that names an organization gets tokens for it, and refreshing keeps it', async () => {
  const { device_code, user_code } = await begin({ organization: 'beta' })
  const browser = await signedIn(running, 'ann')
  const confirm = await enter(browser, user_code)
  assert.match(confirm.text, /For the organization Beta Inc/)
  await browser.submit(confirm, { decision: 'allow' })
  const { body } = await poll(device_code)
  for (const token of [body.access_token, body.id_token]) {
    const claims = decodeJwt(String(token))
    assert.deepEqual([claims.org_id, claims.org_roles], ['beta', ['viewer']])
    assert.doesNotMatch(JSON.stringify(claims), /acme|editor/i, 'no trace of the other organization')
  }
  assert.equal(body.scope, 'openid offline_access read:invoices', 'the permissions are those of the roles in beta')
  const refreshed = await refresh(body.refresh_token)
  assert.equal(decodeJwt(String(refreshed.body.access_token)).org_id, 'beta')
})

test('a device that names none leaves the choice to a member of several', async () => {
  const { device_code, user_code } = await begin()
  const browser = await signedIn(running, 'ann')
  const page = await enter(browser, user_code)
  assert.match(page.text, /Choose an organization/)
  const confirm = await browser.submit(page, { organization: 'acme' })
  assert.match(confirm.text, /Connect Terminal\?[\s\S]*For the organization Acme Ltd/)
  assert.equal((await poll(device_code)).body.error, 'authorization_pending', 'the choice alone grants nothing')
  await browser.submit(confirm, { decision: 'allow' })
  const { body } = await poll(device_code)
  assert.deepEqual(decodeJwt(String(body.access_token)).org_roles, ['editor'])
  const { rows } = await running.database.query<{ details: { organization?: string } }>(
    "SELECT details FROM identity.audit_event WHERE type = 'device_approved' ORDER BY id DESC LIMIT 1",
  )
  assert.equal(rows[0]?.details.organization, 'acme')
})

test('an organization of others is denied, named by the device or chosen by the user', async () => {
  for (const organization of ['acme', 'nowhere']) {
    const { device_code, user_code } = await begin({ organization })
    const page = await enter(await signedIn(running, 'sam'), user_code)
    assert.match(page.text, /not a member of the organization/)
    assert.equal((await poll(device_code)).body.error, 'access_denied')
  }
  const { device_code, user_code } = await begin()
  const browser = await signedIn(running, 'ann')
  const chosen = await browser.submit(await enter(browser, user_code), { organization: 'nowhere' })
  assert.match(chosen.text, /not a member of the organization/)
  assert.equal((await poll(device_code)).body.error, 'access_denied')
})

test('the choice works in its own session, and is no decision', async () => {
  const { device_code, user_code } = await begin()
  const browser = await signedIn(running, 'ann')
  const page = await enter(browser, user_code)
  const other = await signedIn(running, 'ann')
  const stolen = { ...hiddenFields(page), ...formOf(await other.get('/device')), organization: 'acme' }
  assert.equal((await other.post('/device/organization', stolen)).status, 400)
  assert.equal((await browser.submit(page, { form_token: 'x', organization: 'acme' })).status, 403)
  const decided = await browser.post('/device/decision', { ...hiddenFields(page), decision: 'allow' })
  assert.equal(decided.status, 400, 'the page of the choice is not that of the decision')
  const confirm = await browser.submit(page, { organization: 'acme' })
  const again = { ...hiddenFields(confirm), organization: 'beta' }
  assert.equal((await browser.post('/device/organization', again)).status, 400, 'nor the other way round')
  assert.equal((await poll(device_code)).body.error, 'authorization_pending')
})

function formOf(page: TestResponse): { form_token: string } {
  return { form_token: hiddenFields(page).form_token ?? '' }
}

test('a choice of a request that named its organization is ignored', async () => {
  const { user_code } = await begin()
  const browser = await signedIn(running, 'ann')
  const page = await enter(browser, user_code)
  await running.database.query(`UPDATE identity.device_code SET organization_id = 'beta' WHERE state = 'pending'`)
  assert.match((await browser.submit(page, { organization: 'acme' })).text, /For the organization Beta Inc/)
})

test('a decision is void when the membership ended after the page, and tokens end with it', async () => {
  await manage('PUT', '/acme/members/sam', { roles: ['editor'] })
  const browser = await signedIn(running, 'sam')
  const late = await begin({ organization: 'acme' })
  const confirm = await enter(browser, late.user_code)
  const early = await begin({ organization: 'acme' })
  await browser.submit(await enter(browser, early.user_code), { decision: 'allow' })
  const polled = await begin({ organization: 'acme' })
  await browser.submit(await enter(browser, polled.user_code), { decision: 'allow' })
  const { body } = await poll(polled.device_code)
  await manage('DELETE', '/acme/members/sam')
  assert.equal((await browser.submit(confirm, { decision: 'allow' })).status, 400)
  assert.equal((await poll(early.device_code)).body.error, 'invalid_grant')
  assert.equal((await refresh(body.refresh_token)).body.error, 'invalid_grant')
  assert.deepEqual(await introspect(running, String(body.access_token)), { active: false })
})

test('a page without an organization is void once the user has become a member of one', async () => {
  const { device_code, user_code } = await begin({ scope: 'openid' })
  const browser = await signedIn(running, 'sam')
  const confirm = await enter(browser, user_code)
  assert.doesNotMatch(confirm.text, /For the organization/)
  await manage('PUT', '/beta/members/sam', { roles: ['viewer'] })
  assert.equal((await browser.submit(confirm, { decision: 'allow' })).status, 400)
  assert.equal((await poll(device_code)).body.error, 'authorization_pending')
  await manage('DELETE', '/beta/members/sam')
})

test('a client that is not for organizations may not name one, and gets none', async () => {
  const named = { client_id: 'terminal-single', scope: 'openid', organization: 'acme' }
  assert.equal((await running.post('/device_authorization', named)).body.error, 'invalid_request')
  const wrong = { client_id: 'terminal', scope: 'openid', organization: '../x' }
  assert.equal((await running.post('/device_authorization', wrong)).body.error, 'invalid_request')
  const { device_code, user_code } = await begin({ client_id: 'terminal-single', scope: 'openid' })
  const browser = await signedIn(running, 'ann')
  await browser.submit(await enter(browser, user_code), { decision: 'allow' })
  const { body } = await poll(device_code, 'terminal-single')
  assert.equal(decodeJwt(String(body.access_token)).org_id, undefined)
})

test('the second factor that an organization requires is set up before its device is connected', async () => {
  const { device_code, user_code } = await begin({ organization: 'beta' })
  const browser = await signedIn(running, 'bob')
  const confirm = await enter(browser, user_code)
  await manage('PATCH', '/beta', { require_mfa: true })
  assert.equal((await browser.submit(confirm, { decision: 'allow' })).status, 403, 'the session counts as signed out')
  const page = await browser.signIn(await browser.get(`/device?user_code=${user_code}`), 'bob', password)
  assert.match(page.text, /action="\/login\/enrol"/)
  assert.equal((await poll(device_code)).body.error, 'authorization_pending')
  await manage('PATCH', '/beta', { require_mfa: false })
})
