/*
 * A connection that ends, while a sign-in through it waits for its second factor.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type OidcFake, startOidc } from '@gatehouse/fakes'
import { asksForFactor, isSignedIn, shownCodes, TestApp } from '../support/factors/factors.ts'
import { TestBrowser } from '../support/journey.ts'
import {
  addMember,
  callbackOf,
  connectionTo,
  proveDomain,
  requireSecondFactor,
  setupWith,
  signInWithOrganization,
  upstreamClient,
} from '../support/providers.ts'
import type { Running } from '../support/setup.ts'

const domain = 'acme.example'
let provider: OidcFake
let running: Running
before(async () => {
  provider = await startOidc({ client: upstreamClient, redirectUris: [callbackOf('acme')] })
})
after(() => provider.stop())

let made = 0

/** A member of the organization, who begins to sign in at its provider with another browser each time. */
async function createMember() {
  const id = `member-${++made}`
  const email = `${id}@${domain}`
  await running.identity.management.createUser({ id, email, email_verified: true })
  await addMember(running, 'acme', id)
  return {
    id,
    async proveFirst() {
      const browser = new TestBrowser(running)
      provider.user = { sub: id, email, email_verified: true }
      return { browser, page: await signInWithOrganization(browser, email) }
    },
  }
}

const countApps = async (id: string) =>
  (await running.database.query('SELECT 1 FROM identity.authenticator_app WHERE user_id = $1', [id])).rowCount

const ends: Readonly<Record<string, () => Promise<unknown>>> = {
  'was disabled': () => running.identity.management.updateConnection('acme', { enabled: false }),
  'was deleted': () => running.identity.management.deleteConnection('acme'),
  'is of an organization that was suspended': () =>
    running.database.query("UPDATE identity.organization SET status = 'suspended' WHERE id = 'acme'"),
}

for (const [what, end] of Object.entries(ends))
  describe(`a sign-in through a connection that ${what}`, () => {
    before(async () => {
      const declared = { organizations: [{ id: 'acme' }] }
      running = await setupWith([connectionTo(provider, { organization: 'acme' })], { declared })
      await proveDomain(running, 'acme', domain)
      await requireSecondFactor(running, 'acme')
    })
    after(() => running.close())

    test('is not completed by a factor, and enrols none', async () => {
      const [enrolled, newcomer] = [await createMember(), await createMember()]
      const first = await enrolled.proveFirst()
      const app = new TestApp(running, first.page)
      assert.equal(shownCodes(await first.browser.submit(first.page, { code: app.code() })).length, 10)
      const [second, third] = [await enrolled.proveFirst(), await newcomer.proveFirst()]
      assert.ok(asksForFactor(second.page))
      await end()
      for (const [{ browser, page }, code] of [
        [second, app.nextCode()],
        [third, new TestApp(running, third.page).code()],
      ] as const) {
        const response = await browser.submit(page, { code })
        assert.equal(response.status, 400, response.text)
        assert.match(response.text, /expired/)
        assert.equal(await isSignedIn(browser), false)
      }
      assert.equal(await countApps(newcomer.id), 0)
      assert.ok(await isSignedIn(first.browser), 'a session that exists goes on')
    })
  })
