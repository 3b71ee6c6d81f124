import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'

/** How somebody works a page: with the mouse, or with the keyboard alone. */
export interface Hands {
  /** Presses a button, a link or a tab. */
  press(target: Locator): Promise<void>
  /** Writes into a field, in place of what it has. */
  write(target: Locator, text: string): Promise<void>
  /** Picks one of several radio buttons, of which the Tab key reaches the one that is picked. */
  pick(radio: Locator): Promise<void>
  /** Opens a section of the console, by its name or by its letter. */
  open(section: { readonly name: string; readonly letter: string }): Promise<void>
}

/** A mouse, and a keyboard to write. */
export function mouseOf(page: Page): Hands {
  return {
    press: (target) => target.click(),
    write: (target, text) => target.fill(text),
    pick: async (radio) => page.locator(`label[for="${await radio.getAttribute('id')}"]`).click(),
    open: ({ name }) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click(),
  }
}

/** The most stops between two things that a person wants to do in a page. */
const maxStops = 150

/** A keyboard alone: what the Tab key does not reach cannot be used. */
export function keyboardOf(page: Page): Hands {
  const reach = async (target: Locator) => {
    await target.waitFor({ state: 'attached' })
    const hasFocus = () => target.evaluate((element) => element === document.activeElement)
    for (let stops = 0; !(await hasFocus()); stops++) {
      assert.ok(stops < maxStops, `the Tab key never reached ${target}`)
      await page.keyboard.press('Tab')
    }
  }
  return {
    async press(target) {
      await reach(target)
      await page.keyboard.press('Enter')
    },
    async write(target, text) {
      await reach(target)
      await page.keyboard.press('Control+A')
      await page.keyboard.type(text)
    },
    async pick(radio) {
      const group = await radio.getAttribute('name')
      await reach(page.locator(`input[name="${group}"]:checked`))
      for (let steps = 0; !(await radio.isChecked()); steps++) {
        assert.ok(steps < maxStops, `the arrow keys never reached ${radio}`)
        await page.keyboard.press('ArrowRight')
      }
    },
    async open({ letter }) {
      // Letters are text where the focus is in a field.
      await page.evaluate('document.activeElement?.blur()')
      await page.keyboard.press('g')
      await page.keyboard.press(letter)
    },
  }
}
