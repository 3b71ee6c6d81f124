import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type OidcFake, startOidc } from '@gatehouse/fakes'
import type { Query } from '@gatehouse/kit'
import { isSignedIn } from '../support/factors/factors.ts'
import { authorizeUrl, pkce, TestBrowser } from '../support/journey.ts'
import {
  callbackOf,
  choose,
  connectionTo,
  followProvider,
  setupWith,
  signInAt,
  upstreamClient,
} from '../support/providers.ts'
import type { Running } from '../support/setup.ts'

/*
 * Sign-ins at a provider that need no second factor.
 */

let provider: OidcFake
let running: Running
before(async () => {
  provider = await startOidc({ client: upstreamClient, redirectUris: [callbackOf('acme')] })
  running = await setupWith([connectionTo(provider)])
})
after(async () => {
  await running.close()
  await provider.stop()
})
beforeEach(() => running.clock.set(Date.now()))

/** A user there, in a session with this sid. */
function comeFrom(sub: string, sid: string): void {
  provider.user = { sub, email: `${sub}@people.example`, email_verified: true, sid }
}

test('two in one browser, of which one ends within the other, continue the one session', async () => {
  const browser = new TestBrowser(running)
  comeFrom('swift', 'up-0')
  await signInAt(running, browser)
  const sessions = async () => {
    const { rows } = await running.database.query(
      `SELECT n.id FROM identity.session n JOIN identity.account a ON a.id = n.user_id WHERE a.email = $1`,
      ['swift@people.example'],
    )
    return rows
  }
  const before = await sessions()
  assert.equal(before.length, 1)
  const begin = async (sid: string) => {
    comeFrom('swift', sid)
    const request = { client_id: 'web', response_type: 'code', scope: 'openid', prompt: 'login' }
    const challenge = { code_challenge: pkce().code_challenge, code_challenge_method: 'S256' }
    return followProvider(await choose(browser, await browser.get(authorizeUrl({ ...request, ...challenge }))))
  }
  const outer = await begin('up-a')
  const inner = await begin('up-b')
  const query = running.database.query.bind(running.database)
  let innerStatus: number | undefined
  running.database.query = async <Row extends object>(text: string | Query, values?: readonly unknown[]) => {
    const result = await query<Row>(text, values)
    if (innerStatus === undefined && String(text).includes('UPDATE identity.linked_account')) {
      innerStatus = 0
      running.clock.advance(5)
      comeFrom('swift', 'up-b')
      innerStatus = (await browser.get(inner)).status
      running.clock.advance(5)
    }
    return result
  }
  comeFrom('swift', 'up-a')
  const { status } = await browser.get(outer).finally(() => {
    running.database.query = query
  })
  assert.deepEqual([innerStatus, status], [303, 303])
  assert.deepEqual(await sessions(), before)
  assert.ok(await isSignedIn(browser))
})

test('one after a logout that a clock recorded that was ahead is not void', async () => {
  comeFrom('early', 'up-1')
  const real = running.clock.now()
  const first = new TestBrowser(running)
  await signInAt(running, first)
  running.clock.set(real + 100_000)
  const form = { logout_token: provider.createLogoutToken({ claims: { sid: undefined } }) }
  assert.equal((await running.post('/login/providers/acme/logout', form)).status, 200)
  assert.equal(await isSignedIn(first), false)
  for (const elapsed of [2_000, 90_000]) {
    running.clock.set(real + elapsed)
    comeFrom('early', `up-${elapsed}`)
    const second = new TestBrowser(running)
    await signInAt(running, second)
    assert.ok(await isSignedIn(second), `${elapsed} ms after`)
  }
})
