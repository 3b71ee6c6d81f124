import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import { type Browser, chromium, type Page } from 'playwright-core'
import { faultless } from '../support/accessibility.ts'
import { seededPassword, signInOnPages, watchFaults } from '../support/console.ts'
import { type Program, started } from '../support/program.ts'
import { loaded, until } from './page.ts'
import { screens } from './screens.ts'

/** Words that are cut off where they stand: on buttons, badges and headings. */
const cutOff = `[...document.querySelectorAll('.mantine-Button-label, .mantine-Badge-label, h1, h2')]
  .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)`

describe('the console in German, whose words are long', () => {
  let program: Program | undefined
  let browser: Browser | undefined
  let page: Page | undefined
  let faults: string[] = []
  before(async () => {
    const executablePath = findProgram('chromium')
    if (executablePath === undefined) return
    program = await started()
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    page = await browser.newPage({ viewport: { width: 1280, height: 800 }, locale: 'de-DE', colorScheme: 'dark' })
    page.setDefaultTimeout(60_000)
    faults = watchFaults(page, (text) => text.startsWith('Failed to load resource'))
    await page.goto(`${program.url}/console/`)
    await signInOnPages(page, 'alice', seededPassword(program.stdout()))
    await page.getByRole('heading', { level: 1, name: 'Überblick' }).waitFor()
  })
  after(async () => {
    await browser?.close()
    await program?.stop()
  })
  const tab = () => page ?? assert.fail('there is no page')

  testWith('chromium', 'every screen fits 1280, 390 and 320 pixels, light and dark, and cuts no word off', async () => {
    const wrong: string[] = []
    for (const [path] of screens) {
      await tab().setViewportSize({ width: 1280, height: 800 })
      await tab().goto(`${program?.url}/console${path}`)
      await tab().getByRole('heading', { level: 1 }).waitFor()
      await loaded(tab())
      for (const [width, colorScheme] of [
        [1280, 'light'],
        [390, 'dark'],
        [320, 'light'],
      ] as const) {
        await tab().emulateMedia({ colorScheme })
        await tab().setViewportSize({ width, height: 800 })
        await until(tab(), 'document.documentElement.scrollWidth <= innerWidth')
        const words = (await tab().evaluate(cutOff)) as string[]
        wrong.push(...words.map((word) => `${path} at ${width}: ${word} is cut off`))
        const what = `${path}, dark at ${width}`
        if (colorScheme === 'dark') await faultless(tab(), what).catch((error) => wrong.push(`${what}: ${error}`))
      }
    }
    assert.deepEqual(wrong, [])
    assert.deepEqual(faults, [])
  })
})
