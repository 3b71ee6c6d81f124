import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import { build } from 'esbuild'
import { type Browser, chromium, type Page } from 'playwright-core'

const row = (name: string) => `<tr tabindex="-1" id="${name}">
  <td><input type="checkbox"></td><td><a href="#open-${name}">${name}</a></td>
  <td class="actions"><button data-key="r" onclick="document.title = 'replay ${name}'">Replay</button>
  <button data-key="e" onclick="document.title = 'edit ${name}'">Edit</button></td></tr>`
const page = `<table class="rows"><thead><tr><th>Name</th></tr></thead><tbody>${['a', 'b'].map(row).join('')}</tbody></table>
  <table class="rows"><tbody>${row('c')}</tbody></table><table><tbody>${row('other')}</tbody></table>`

describe('keys in the rows of tables', () => {
  let browser: Browser
  let tab: Page
  before(async () => {
    const executablePath = findProgram('chromium')
    if (executablePath === undefined) return
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    tab = await browser.newPage()
    await tab.setContent(page)
    const entry = new URL('../../src/browser/parts/row-keys.ts', import.meta.url).pathname
    const { outputFiles } = await build({
      entryPoints: [entry],
      bundle: true,
      write: false,
      format: 'iife',
      globalName: 'keys',
    })
    await tab.addScriptTag({ content: outputFiles[0]?.text ?? '' })
  })
  after(() => browser?.close())

  const press = async (...pressed: string[]) => {
    let meant: unknown
    for (const key of pressed) meant = await tab.evaluate(`keys.pressRowKey(${JSON.stringify(key)})`)
    return meant
  }
  const focused = () => tab.evaluate("document.activeElement.closest('tr')?.id ?? document.activeElement.tagName")
  const leave = () => tab.evaluate('document.activeElement.blur()')

  testWith('chromium', 'j and k move through the rows of every table of the page, and stay at its ends', async () => {
    const visited: unknown[] = []
    for (const key of ['j', 'j', 'j', 'j', 'k', 'k', 'k']) {
      await press(key)
      visited.push(await focused())
    }
    assert.deepEqual(visited, ['a', 'b', 'c', 'c', 'b', 'a', 'a'])
    await leave()
  })

  testWith(
    'chromium',
    'in a row Enter opens, x selects, e and r press their buttons, and . goes to its actions',
    async () => {
      await press('j', 'j', 'Enter')
      assert.match(tab.url(), /#open-b$/)
      await press('x')
      assert.deepEqual(
        await tab.evaluate("[...document.querySelectorAll('#a input, #b input')].map((b) => b.checked)"),
        [false, true],
      )
      await press('r')
      assert.equal(await tab.title(), 'replay b')
      await press('e')
      assert.equal(await tab.title(), 'edit b')
      await press('.')
      assert.equal(await tab.evaluate('document.activeElement.innerText'), 'Replay')
      assert.equal(await press('Enter'), false, 'Enter is the button’s')
      await leave()
    },
  )

  testWith('chromium', 'outside of a row only j and k mean anything, and nothing does under a dialog', async () => {
    for (const key of ['Enter', 'x', 'e', 'r', '.', 'q']) assert.equal(await press(key), false, key)
    await tab.evaluate("document.body.insertAdjacentHTML('beforeend', '<div aria-modal=true>a dialog</div>')")
    for (const key of ['j', 'k', 'x']) assert.equal(await press(key), false, key)
  })
})
