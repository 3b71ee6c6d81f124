import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { faultless, readable } from '../support/accessibility.ts'
import { consoleOfSuite } from '../support/console.ts'
import { started } from '../support/program.ts'
import { loaded, until } from './page.ts'
import { screens } from './screens.ts'

/** Each width and each colour scheme: what a width does to a page and what its colours do depend little on each other. */
const looks = [
  { width: 1280, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
  { width: 320, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
] as const

describe('the console in German, whose words are long', () => {
  const { tab, program, faults } = consoleOfSuite({ start: started, first: ['/', 'Overview'] })

  testWith('chromium', 'every screen fits 1280, 390 and 320 pixels and is accessible, light and dark', async () => {
    // Frames of mails are sandboxed, and have no storage.
    const german = `localStorage.setItem('gatehouse-console-settings', '{"language":"de"}')`
    await tab().addInitScript(`if (window === window.top) ${german}`)
    for (const [path] of screens) {
      await tab().setViewportSize({ width: 1280, height: 800 })
      await tab().goto(`${program().url}/console${path}`)
      await tab().getByRole('heading', { level: 1 }).waitFor()
      await loaded(tab())
      assert.equal(await tab().locator('html').getAttribute('lang'), 'de')
      for (const { width, colorScheme } of looks) {
        await tab().emulateMedia({ colorScheme })
        await tab().setViewportSize({ width, height: 800 })
        // The layout moves to its new width; one that stays too wide never gets there.
        await until(tab(), 'document.documentElement.scrollWidth <= innerWidth')
        // A pressed button shows a turning mark instead of its words until its answer is there.
        await until(tab(), "document.querySelector('[data-loading]') === null")
        await readable(tab(), `${path}, ${width} pixels`)
        await faultless(tab(), `${path}, ${width} pixels, ${colorScheme}`)
      }
    }
    assert.deepEqual(faults(), [])
  })
})
