import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { request } from 'undici'
import { Person } from '../support/person.ts'
import { type Platform, passwordOf, startPlatform } from '../support/platform.ts'

const known = 'gatehouse-console-known'
const dayMs = 86_400_000

describe('how many sign-ins to the console may begin', () => {
  let platform: Platform
  /** The policies that allow no more. */
  const usedUp = new Set<string>()
  const counted: string[] = []
  before(async () => {
    platform = await startPlatform(
      () => {},
      async (policy) => {
        counted.push(policy)
        return { allowed: !usedUp.has(policy) }
      },
    )
  })
  after(() => platform.stop())
  beforeEach(() => {
    usedUp.clear()
    counted.length = 0
  })

  const signedIn = async () => {
    const person = new Person(platform.url)
    assert.equal((await person.signIn('olga', passwordOf('olga'))).status, 200)
    return person
  }
  const mayBegin = async (person: Person, query = '') => {
    const answer = await person.request(`/console/login${query}`)
    assert.equal(answer.status, 303)
    return !answer.headers.get('location')?.endsWith('/console/signed-out?fault=limited')
  }

  /** As a browser does it; `fetch` writes headers of its own in place of these. */
  const beginWith = async (headers: Readonly<Record<string, string>>) => {
    const answer = await request(`${platform.url}/console/login`, { headers })
    await answer.body.dump()
    return answer
  }
  const loads = [
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
    { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
  ]
  for (const headers of loads)
    test(`what a page loads as ${headers['sec-fetch-dest']} begins no sign-in and is not counted`, async () => {
      const earlier = platform.requests.length
      const { statusCode } = await beginWith(headers)
      assert.equal(statusCode, 403)
      assert.deepEqual(counted, [])
      assert.deepEqual(platform.requests.slice(earlier), ['GET /console/login'])
    })

  test('a navigation begins a sign-in, and so does a browser that does not say what it does', async () => {
    const navigation = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    for (const headers of [navigation, {}]) {
      const { location } = (await beginWith(headers)).headers
      assert.match(String(location), /\/authorize\?/)
    }
    const both = ['console-sign-in-address', 'console-sign-in']
    assert.deepEqual(counted, [...both, ...both])
  })

  test('where all sign-ins are used up, a browser that has signed in before signs in again', async () => {
    const person = await signedIn()
    await person.api('/sign-out', { method: 'POST' })
    usedUp.add('console-sign-in')
    assert.equal(await mayBegin(new Person(platform.url)), false)
    const { status } = await person.signIn('olga', passwordOf('olga'))
    assert.equal(status, 200)
    assert.equal(await person.isSignedIn(), true)
  })

  test('where all sign-ins are used up, who has a session signs in again for a step-up', async () => {
    const person = await signedIn()
    person.cookies.delete(known)
    usedUp.add('console-sign-in')
    assert.equal(await mayBegin(person, '?max_age=0'), true)
    platform.clock.advance(31 * 60_000)
    assert.equal(await mayBegin(person), false, 'the session has expired')
  })

  test('an address has no more sign-ins than others, whoever asks there', async () => {
    const person = await signedIn()
    usedUp.add('console-sign-in-address')
    assert.equal(await mayBegin(person, '?max_age=0'), false)
  })

  test('a browser that has signed in is known for 90 days, by a cookie that only we can write', async () => {
    const person = await signedIn()
    const line = person.setCookies.find((each) => each.startsWith(`${known}=`)) ?? ''
    assert.match(line, /^[^;]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=7776000$/)
    const value = person.cookies.get(known) ?? ''
    const began = (await begunCookie()) ?? ''
    usedUp.add('console-sign-in')
    const browser = new Person(platform.url)
    for (const forged of ['1', began, value.slice(0, -2)]) {
      browser.cookies.set(known, forged)
      assert.equal(await mayBegin(browser), false)
    }
    browser.cookies.set(known, value)
    platform.clock.advance(89 * dayMs)
    assert.equal(await mayBegin(browser), true)
    platform.clock.advance(2 * dayMs)
    assert.equal(await mayBegin(browser), false)
  })

  /** What the console seals for anybody who begins to sign in. */
  async function begunCookie(): Promise<string | undefined> {
    const stranger = new Person(platform.url)
    await stranger.request('/console/login')
    return stranger.cookies.get('gatehouse-console-sign-in')
  }
})
