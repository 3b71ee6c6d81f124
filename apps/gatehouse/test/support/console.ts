import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { findProgram } from '@gatehouse/testing'
import { chromium, type Locator, type Page } from 'playwright-core'
import { loaded, until } from '../console/page.ts'
import { faultless, readable } from './accessibility.ts'
import type { Program } from './program.ts'

/** The console in a tab of a browser, and what a person does there. */
export interface ConsoleTab {
  tab(): Page
  program(): Program
  /** What the page did that it may not, so far: errors of its scripts, and violations of its policy. */
  faults(): readonly string[]
  /** Signs in on the pages of the identity service; without a person as the owner whom the first run seeded. */
  signIn(person?: Person): Promise<void>
  /** Waits for the page with this heading. */
  heading(name: string): Promise<void>
  /** Opens a path of the console, and waits until the page with this heading shows what it has. */
  open(path: string, heading: string): Promise<void>
  /** Waits for a message. */
  toast(message: string): Promise<void>
  /** Fails with what an accessibility check finds at fault in the page now. */
  faultless(what: string): Promise<void>
  /** Fails when the page is wider than 390 or 320 pixels, or cuts words off there; afterwards it is wide again. */
  fitsPhone(): Promise<void>
  /** Presses a key until the focus is there. */
  reach(target: Locator, key?: string): Promise<void>
  /** Goes to a button with the keyboard, and presses it. */
  press(name: string, key?: string): Promise<void>
}

interface Person {
  readonly username: string
  readonly password: string
}

/** What ends after the test or the suite that it is of. */
interface Context {
  after(stop: () => unknown): void
}

const wide = { width: 1280, height: 900 }
const phones = [
  { width: 390, height: 800 },
  { width: 320, height: 700 },
] as const
const maxPresses = 150

/** Opens a browser for the console of a program. */
export async function openConsole(context: Context, program: Program): Promise<ConsoleTab> {
  const browser = await chromium.launch({ executablePath: findProgram('chromium') ?? '', args: ['--no-sandbox'] })
  context.after(() => browser.close())
  const own = await browser.newContext({
    viewport: wide,
    locale: 'en-GB',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await own.newPage()
  page.setDefaultTimeout(60_000)
  // A refused call is an answer that the pages show; the browser logs it as an error of its own.
  const faults = watchFaults(page, (text) => text.startsWith('Failed to load resource'))
  return createTab(() => ({ page, program, faults }))
}

interface SuiteOptions {
  start(): Promise<Program>
  /** The page where the person is signed in before the first test; without it nobody is. */
  readonly first?: readonly [path: string, heading: string]
  /** Who signs in. Default: the owner whom the first run seeded. */
  readonly person?: Person
}

/** Starts a program and opens its console for the tests of a suite. */
export function consoleOfSuite({ start, first, person }: SuiteOptions): ConsoleTab {
  let program: Program | undefined
  let opened: ConsoleTab | undefined
  const stops: (() => unknown)[] = []
  before(async () => {
    if (findProgram('chromium') === undefined) return
    program = await start()
    opened = await openConsole({ after: (stop) => stops.push(stop) }, program)
    if (first === undefined) return
    await opened.tab().goto(`${program.url}/console${first[0]}`)
    await opened.signIn(person)
    await opened.heading(first[1])
  })
  after(async () => {
    for (const stop of stops) await stop()
    await program?.stop()
  })
  return createTab(() => {
    const { tab, program, faults } = opened ?? assert.fail('the console is not open')
    return { page: tab(), program: program(), faults: faults() }
  })
}

function createTab(of: () => { page: Page; program: Program; faults: readonly string[] }): ConsoleTab {
  const tab = () => of().page
  const heading = (name: string) => tab().getByRole('heading', { level: 1, name, exact: true }).waitFor()
  const reach = async (target: Locator, key = 'Tab') => {
    const focused = target.and(tab().locator(':focus'))
    await target.first().waitFor()
    for (let presses = 0; presses < maxPresses; presses++) {
      if ((await focused.count()) > 0) return
      await tab().keyboard.press(key)
    }
    assert.fail(`${key} never came to ${target}`)
  }
  return {
    tab,
    heading,
    reach,
    program: () => of().program,
    faults: () => of().faults,
    signIn: ({ username, password } = { username: 'alice', password: seededPassword(of().program.stdout()) }) =>
      signInOnPages(tab(), username, password),
    async open(path, name) {
      await tab().goto(`${of().program.url}/console${path}`)
      await heading(name)
      await loaded(tab())
    },
    toast: (message) => tab().getByText(message, { exact: true }).first().waitFor(),
    faultless: (what) => faultless(tab(), what),
    async fitsPhone() {
      for (const viewport of phones) {
        await tab().setViewportSize(viewport)
        // The layout moves to its new width; one that stays too wide never gets there.
        await until(tab(), 'document.documentElement.scrollWidth <= innerWidth')
        await readable(tab(), `${tab().url()} at ${viewport.width} pixels`)
      }
      await tab().setViewportSize(wide)
    },
    async press(name, key) {
      await reach(tab().getByRole('button', { name, exact: true, disabled: false }), key)
      await tab().keyboard.press('Enter')
    },
  }
}

/** Collects what a page may not do: errors in its console, and violations of its policy. */
export function watchFaults(page: Page, accept: (text: string) => boolean): string[] {
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' && !accept(message.text())) faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(String(error)))
  return faults
}

/** The password that the first run printed. */
export function seededPassword(stdout: string): string {
  return /user +alice +password (\S+)/.exec(stdout)?.[1] ?? assert.fail('no password was printed')
}

/** Signs in on the pages of the identity service, where the console sent the browser. */
export async function signInOnPages(page: Page, username: string, password: string): Promise<void> {
  await page.locator('input[name=username]').fill(username)
  await page.locator('input[name=password]').fill(password)
  await page.locator('button[type=submit]').first().click()
}
