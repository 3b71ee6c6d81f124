import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Transaction } from '@gatehouse/kit'
import { createPerson, isSignedIn, shownCodes, TestApp } from '../support/factors/factors.ts'
import { authorizeUrl, clients, pkce, TestBrowser, users } from '../support/journey.ts'
import { type Running, setup } from '../support/setup.ts'

/*
 * An authenticator app that is set up within a session raises it; a session that has ended gets none.
 */

const [web] = clients
const strictWeb = { ...web, client_id: 'strict', mfa: 'required' as const }

let running: Running
before(async () => {
  running = await setup({ declared: { clients: [web, strictWeb] as typeof clients, users }, mfa: 'optional' })
})
after(() => running.close())

const pages = {
  '/account/factors/app': '/account/factors/app',
  '/login/enrol': authorizeUrl({ client_id: 'strict', response_type: 'code', scope: 'openid', ...pkce() }),
}

/** A new user who signed in by password, at the page that sets up an app. */
async function begin(action: keyof typeof pages) {
  const user = await createPerson(running)
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'), ...user)
  const page = await browser.get(pages[action])
  assert.ok(page.text.includes(`action="${action}"`), page.text)
  return { id: user[0], browser, page, code: new TestApp(running, page).code() }
}

/** The same browser, before what the other one does next. */
function copyOf({ cookies }: TestBrowser): TestBrowser {
  const copy = new TestBrowser(running)
  for (const [name, value] of cookies) copy.cookies.set(name, value)
  return copy
}

/** What is stored of a user's factors and sessions, and with which credentials. */
async function stateOf(id: string) {
  const { rows } = await running.database.query<{ version: string; apps: number; codes: number; sessions: string[] }>(
    `SELECT credential_version AS version,
       (SELECT count(*)::int FROM identity.authenticator_app WHERE user_id = $1) AS apps,
       (SELECT count(*)::int FROM identity.recovery_code WHERE user_id = $1) AS codes,
       ARRAY(SELECT id::text || ' ' || array_to_string(amr, ' ') FROM identity.session WHERE user_id = $1) AS sessions
     FROM identity.account WHERE id = $1`,
    [id],
  )
  return rows[0] ?? assert.fail()
}

for (const action of ['/account/factors/app', '/login/enrol'] as const) {
  test(`an app that is set up at ${action} raises the session, whose cookie changes`, async () => {
    const { id, browser, page, code } = await begin(action)
    const [before, old] = [await stateOf(id), copyOf(browser)]
    assert.equal(shownCodes(await browser.submit(page, { code })).length, 10)
    const { apps, codes, sessions } = await stateOf(id)
    assert.deepEqual([apps, codes, sessions], [1, 10, [`${before.sessions[0]} otp mfa`]])
    assert.deepEqual([await isSignedIn(browser), await isSignedIn(old)], [true, false])
    assert.match((await browser.get('/account/factors')).text, /Unused codes: 10/)
  })

  test(`a session that ends while an app is set up at ${action} stays ended, and has no app`, async () => {
    const { id, browser, page, code } = await begin(action)
    const before = await stateOf(id)
    const other = copyOf(browser)
    const transaction = running.database.transaction.bind(running.database)
    let ended: Promise<unknown> | undefined
    running.database.transaction = async <Result>(work: (tx: Transaction) => Promise<Result>) => {
      if (ended === undefined) {
        ended = other.get('/end_session').then((logout) => other.submit(logout, { decision: 'leave' }))
        await ended
      }
      return transaction(work)
    }
    const response = await browser.submit(page, { code }).finally(() => {
      running.database.transaction = transaction
    })
    assert.deepEqual(await stateOf(id), { ...before, sessions: [] })
    assert.equal(response.status, 400, response.text)
    assert.equal(await isSignedIn(browser), false)
  })
}
