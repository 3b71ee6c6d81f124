import assert from 'node:assert/strict'
import type { Locator } from 'playwright-core'
import type { ConsoleTab } from '../support/console.ts'

/** How somebody works a page: with the mouse, or with the keyboard alone. */
export interface Hands {
  /** Presses a button, a link or a tab. */
  press(target: Locator): Promise<void>
  /** Writes into a field, in place of what it has. */
  write(target: Locator, text: string): Promise<void>
  /** Picks one of several radio buttons. */
  pick(radio: Locator): Promise<void>
  /** Opens a section of the console, by its name or by its letter. */
  open(section: { readonly name: string; readonly letter: string }): Promise<void>
}

/** A mouse, and a keyboard to write. */
export function mouseOf({ tab }: ConsoleTab): Hands {
  return {
    press: (target) => target.click(),
    write: (target, text) => target.fill(text),
    pick: async (radio) =>
      tab()
        .locator(`label[for="${await radio.getAttribute('id')}"]`)
        .click(),
    open: ({ name }) => tab().getByRole('navigation').getByRole('link', { name, exact: true }).click(),
  }
}

const maxPresses = 150

/** A keyboard alone: what the Tab key does not reach cannot be used. */
export function keyboardOf({ tab, reach }: ConsoleTab): Hands {
  const keys = tab().keyboard
  const pressUntil = async (key: string, isThere: () => Promise<boolean>) => {
    for (let presses = 0; !(await isThere()); presses++) {
      assert.ok(presses < maxPresses, `${key} never came there`)
      await keys.press(key)
    }
  }
  return {
    async press(target) {
      await reach(target)
      await keys.press('Enter')
    },
    async write(target, text) {
      await reach(target)
      await keys.press('Control+A')
      await keys.type(text)
    },
    async pick(radio) {
      // The Tab key stops at the one that is picked, the arrow keys move on; the radio itself is drawn by its label.
      const group = await radio.getAttribute('name')
      const focused = tab().locator(`input[name="${group}"]:focus`)
      await pressUntil('Tab', async () => (await focused.count()) > 0)
      await pressUntil('ArrowRight', () => radio.isChecked())
    },
    async open({ letter }) {
      // Letters are text where the focus is in a field.
      await tab().evaluate('document.activeElement?.blur()')
      await keys.press('g')
      await keys.press(letter)
    },
  }
}
