import assert from 'node:assert/strict'
import type { Clock, ManualClock } from '@gatehouse/kit'
import { hotp, stepAt } from '../../../src/model/factors/totp.ts'
import { TestBrowser } from '../journey.ts'
import type { Running, TestResponse } from '../setup.ts'

type Served = Pick<Running, 'http' | 'post' | 'clock'>

/** The authenticator app of a user: it computes codes from the secret that a page shows as text. */
export class TestApp {
  readonly #clock: Clock & Partial<Pick<ManualClock, 'advance'>>
  readonly #secret: Buffer

  constructor({ clock }: { readonly clock: Clock }, page: Pick<TestResponse, 'text'>) {
    this.#clock = clock
    this.#secret = decodeBase32(/<code class="secret">([A-Z2-7 ]+)</.exec(page.text)?.[1] ?? assert.fail(page.text))
  }

  /** The code that it shows, or showed or will show some steps away. */
  code(steps: number = 0): string {
    return hotp(this.#secret, stepAt(this.#clock.now()) + steps)
  }

  /** The next code: time passes until the last one can't be confused with it. */
  nextCode(): string {
    this.#clock.advance?.(30_000)
    return this.code()
  }
}

function decodeBase32(text: string): Buffer {
  const bits = [...text.replaceAll(' ', '')].map((letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  )
  const bytes = bits.join('').match(/.{8}/g) ?? []
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)))
}

/** The recovery codes of a page. */
export function shownCodes(page: TestResponse): string[] {
  return [...page.text.matchAll(/<li><code>([a-z2-7-]+)<\/code>/g)].map(([, code = '']) => code)
}

export interface Enrolled {
  readonly browser: TestBrowser
  readonly app: TestApp
  readonly codes: readonly string[]
}

/** Signs a user in and sets up an authenticator app on the account page. */
export async function enrol(
  running: Served,
  [user, password]: readonly [string, string] = ['alice', 'correct horse'],
): Promise<Enrolled> {
  const browser = new TestBrowser(running as never)
  const login = await browser.get('/account/factors/app')
  const page = await browser.signIn(login, user, password)
  const app = new TestApp(running, page)
  const done = await browser.submit(page, { code: app.code() })
  assert.equal(done.status, 200, done.text)
  return { browser, app, codes: shownCodes(done) }
}

/** Signs in by password and second factor, and returns what follows. */
export async function signInWithCode(
  browser: TestBrowser,
  page: TestResponse,
  { user = ['alice', 'correct horse'], ...input }: { user?: readonly [string, string] } & Record<string, unknown>,
): Promise<TestResponse> {
  const factor = await browser.signIn(page, ...user)
  assert.ok(asksForFactor(factor), factor.text)
  return browser.follow(await browser.submit(factor, input as Record<string, string>))
}

/** Whether a page asks for a second factor. */
export function asksForFactor(page: TestResponse): boolean {
  return page.text.includes('action="/login/factor"')
}

/** Whether the browser is signed in: its account page is shown. */
export async function isSignedIn(browser: TestBrowser): Promise<boolean> {
  return (await browser.get('/account')).text.includes('/end_session')
}

let made = 0

/** Creates a user of whom no other test knows. */
export async function createPerson({ identity }: Pick<Running, 'identity'>): Promise<readonly [string, string]> {
  const id = `person-${++made}`
  const password = 'a long and quiet password'
  await identity.management.createUser({ id, password, email: `${id}@people.example`, email_verified: true })
  return [id, password]
}
