import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { consoleOfSuite } from '../support/console.ts'
import { started } from '../support/program.ts'
import { loaded, until } from './page.ts'
import { screens } from './screens.ts'

/** Words that are cut off where they stand: on buttons, badges and headings. */
const cutOff = `[...document.querySelectorAll('.mantine-Button-label, .mantine-Badge-label, h1, h2')]
  .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)`

const looks = [
  [1280, 'light'],
  [390, 'dark'],
  [320, 'light'],
] as const

describe('the console in German, whose words are long', () => {
  const { tab, program, faults, faultless } = consoleOfSuite({ start: started, first: ['/', 'Overview'] })

  testWith('chromium', 'every screen fits 1280, 390 and 320 pixels, light and dark, and cuts no word off', async () => {
    await tab().addInitScript(`localStorage.setItem('gatehouse-console-settings', '{"language":"de"}')`)
    const wrong: string[] = []
    for (const [path] of screens) {
      process.stderr.write(`${path} `)
      await tab().setViewportSize({ width: 1280, height: 800 })
      await tab().goto(`${program().url}/console${path}`)
      await tab().getByRole('heading', { level: 1 }).waitFor()
      await loaded(tab())
      assert.equal(await tab().locator('html').getAttribute('lang'), 'de')
      for (const [width, colorScheme] of looks) {
        process.stderr.write(`${width} `)
        await tab().emulateMedia({ colorScheme })
        await tab().setViewportSize({ width, height: 800 })
        // The layout moves to its new width; one that stays too wide never gets there.
        await until(tab(), 'document.documentElement.scrollWidth <= innerWidth')
        process.stderr.write('fits ')
        const words = (await tab().evaluate(cutOff)) as string[]
        wrong.push(...words.map((word) => `${path} at ${width}: ${word} is cut off`))
        const what = `${path}, dark at ${width}`
        if (colorScheme === 'dark') await faultless(what).catch((error) => wrong.push(`${what}: ${error}`))
      }
    }
    assert.deepEqual(wrong, [])
    assert.deepEqual(faults(), [])
  })
})
