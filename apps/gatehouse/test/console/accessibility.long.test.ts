import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { faultless, readable } from '../support/accessibility.ts'
import { consoleOfSuite } from '../support/console.ts'
import { started } from '../support/program.ts'

const page = (body: string) => `<html lang="en"><title>A page</title><main><h1>A page</h1>${body}</main></html>`

describe('the checks of what a page looks like', () => {
  const { tab } = consoleOfSuite({ start: started })

  testWith(
    'chromium',
    'colours that change in closed details, which no browser plays, keep no check waiting',
    async () => {
      const style =
        '<style>p { transition: color 1s } @media (prefers-color-scheme: dark) { p { color: #333 } }</style>'
      await tab().setContent(page(`${style}<details><summary>More</summary><p>Hidden</p></details>`))
      await tab().evaluate("getComputedStyle(document.querySelector('p')).color")
      await tab().emulateMedia({ colorScheme: 'dark' })
      await tab().evaluate("getComputedStyle(document.querySelector('p')).color")
      assert.equal(await tab().evaluate('document.getAnimations().length'), 1)
      await faultless(tab(), 'closed details')
    },
  )

  for (const [what, body] of [
    ['a button', '<button style="width: 4em; overflow: hidden">Benachrichtigungen</button>'],
    ['a badge', '<span class="Badge-root"><span style="display: block; width: 4em">Benachrichtigungen</span></span>'],
    ['a choice', '<select aria-label="a" style="width: 4em"><option>Benachrichtigungen</option></select>'],
    ['an example', '<input aria-label="a" style="width: 4em" placeholder="Benachrichtigungen">'],
  ] as const)
    testWith('chromium', `${what} whose words are cut off is found`, async () => {
      await tab().setContent(page(body))
      await assert.rejects(readable(tab(), what), /Benachrichtigungen/)
      await tab().setContent(page(body.replace('width: 4em', 'width: 20em')))
      await readable(tab(), what)
    })
})
