import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { decodeJwt } from 'jose'
import { clients, getTokens, TestBrowser, webSecret } from '../../support/journey.ts'
import { administrators, call, consoleClient, tokenOf } from '../../support/management/administrators.ts'
import { type Running, setup, type TestResponse } from '../../support/setup.ts'

const password = 'a long and quiet password'
const people = ['ann', 'ben', 'cleo'].map((id) => ({ id, password, email: `${id}@people.example` }))

let running: Running
let owner: string
let support: string
before(async () => {
  running = await setup({
    declared: { clients: [...clients, consoleClient], users: [...administrators, ...people] },
  })
  owner = await tokenOf(running, 'gatehouse-owner')
  support = await tokenOf(running, 'gatehouse-support')
})
after(() => running.close())

interface Listed {
  readonly id: string
  readonly user_id: string
  readonly clients: readonly string[]
  readonly is_own: boolean
  readonly address: string
}

const list = async (query = '', token = owner): Promise<readonly Listed[]> => {
  const { body, text } = await call(running, token, { method: 'GET', url: `/admin/v1/sessions?${query}` })
  return (body.items as Listed[] | undefined) ?? assert.fail(text)
}
const end = (query: string, token = owner): Promise<TestResponse> =>
  call(running, token, { method: 'DELETE', url: `/admin/v1/sessions?${query}` })

/** Signs in, at a client if there is one, and returns the tokens and the browser. */
async function signIn(user: string, client?: 'web' | 'spa') {
  const browser = new TestBrowser(running, { 'user-agent': 'Mozilla/5.0 (X11; Linux) Firefox/140.0' })
  await browser.signIn(await browser.get('/account'), user, password)
  const scope = 'openid offline_access'
  const tokens = client === undefined ? {} : await getTokens(running, { browser, client, scope })
  return { browser, tokens }
}

const isSignedIn = async (browser: TestBrowser) => !(await browser.get('/account')).text.includes('action="/login"')

test('sessions of all users are listed, the latest first, and by user, client and address', async () => {
  running.clock.advance(1_000)
  await signIn('ann', 'web')
  running.clock.advance(1_000)
  await signIn('ben')
  running.clock.advance(1_000)
  await signIn('cleo', 'spa')
  const users = (sessions: readonly Listed[]) => sessions.map(({ user_id }) => user_id)
  assert.deepEqual(users(await list()).slice(0, 3), ['cleo', 'ben', 'ann'])
  assert.deepEqual(users(await list('user_id=ben')), ['ben'])
  assert.deepEqual(users(await list('client_id=web')), ['ann'])
  assert.deepEqual(users(await list('address=192.0.2.1')), [])
  assert.equal((await list('address=127.0.0.1')).length, (await list()).length)
  const [ann] = await list('user_id=ann')
  assert.deepEqual([ann?.clients, ann?.is_own], [['web'], false])
  const own = (await list()).filter(({ is_own }) => is_own)
  assert.deepEqual(users(own), ['owner'])
})

test('whoever sees addresses masked finds no session by one', async () => {
  const [{ id, address } = assert.fail('no session')] = await list('user_id=ann', support)
  assert.equal(address, '127.0.0.0/24')
  const guesses = Array.from({ length: 3 }, (_, last) => `user_id=ann&address=127.0.0.${last}`)
  for (const guess of guesses) {
    const refused = await call(running, support, { method: 'GET', url: `/admin/v1/sessions?${guess}` })
    assert.equal(refused.status, 403, id)
    assert.match(String(refused.headers['www-authenticate']), /insufficient_scope", scope="read:personal-data"/)
    assert.match(refused.text, /read:personal-data/)
  }
})

test('pages of sessions follow one another without a gap', async () => {
  const all = await list('limit=200')
  const found: string[] = []
  for (let cursor = ''; ; ) {
    const url = `/admin/v1/sessions?limit=2${cursor}`
    const { body } = await call(running, owner, { method: 'GET', url })
    found.push(...(body.items as Listed[]).map(({ id }) => id))
    if (body.next === undefined) break
    cursor = `&cursor=${body.next}`
  }
  assert.deepEqual(
    found,
    all.map(({ id }) => id),
  )
  assert.equal((await call(running, owner, { method: 'GET', url: '/admin/v1/sessions?cursor=1.2' })).status, 400)
})

test('who may not read personal data sees networks and browsers in their place', async () => {
  const [session] = await list('user_id=ann', support)
  assert.equal(session?.address, '127.0.0.0/24')
})

test('all sessions of a user end at once, and a grant stays', async () => {
  const { browser, tokens } = await signIn('ann', 'web')
  const response = await call(running, support, { method: 'DELETE', url: '/admin/v1/users/ann/sessions' })
  assert.deepEqual([response.status, response.body], [200, { ended: 2 }])
  assert.deepEqual([await isSignedIn(browser), await list('user_id=ann')], [false, []])
  const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '', ...webSecret }
  assert.ok((await running.post('/token', form)).body.access_token)
})

test('a filter ends its sessions after a trial run, and none of the caller or of somebody above', async () => {
  await signIn('ben', 'web')
  const counted = await end('client_id=web&dry_run=true')
  assert.deepEqual(counted.body, { matched: 1, ended: 0, skipped: 0, more: false })
  assert.equal((await list('client_id=web')).length, 1)
  assert.deepEqual((await end('client_id=web')).body, { matched: 1, ended: 1, skipped: 0, more: false })
  assert.deepEqual(await list('client_id=web'), [])
  const operator = await tokenOf(running, 'gatehouse-operator')
  const consoles = await list('client_id=console')
  const { body } = await end('client_id=console', operator)
  assert.deepEqual([body.matched, body.skipped], [consoles.length - 1, 2], 'those above stay')
  const left = (await list('client_id=console')).map(({ user_id }) => user_id).sort()
  assert.deepEqual(left, ['operator', 'owner', 'support'])
  assert.equal((await end('')).status, 400, 'a filter is needed')
})

test('the grants of a user are listed with their use, and each ends by itself', async () => {
  const { tokens } = await signIn('cleo', 'web')
  const path = '/admin/v1/users/cleo/grants'
  const { body } = await call(running, support, { method: 'GET', url: path })
  const grants = body.items as { id: string; client_id: string; session_id: string; user_agent: string }[]
  const web = grants.find(({ client_id }) => client_id === 'web') ?? assert.fail('no grant of web')
  assert.equal(web.session_id, decodeJwt(tokens.id_token ?? '').sid)
  assert.equal(web.user_agent, 'Firefox · Linux')
  const remove = (user: string) =>
    call(running, support, { method: 'DELETE', url: `/admin/v1/users/${user}/grants/${web.id}` })
  assert.equal((await remove('ben')).status, 404, 'a grant of another user')
  assert.equal((await remove('cleo')).status, 204)
  const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '', ...webSecret }
  assert.equal((await running.post('/token', form)).body.error, 'invalid_grant')
  assert.equal((await remove('cleo')).status, 404, 'only once')
})
