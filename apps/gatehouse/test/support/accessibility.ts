import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What fades in has not its colours yet; what spins never ends. */
const ending =
  'document.getAnimations().filter((one) => Number.isFinite(one.effect?.getComputedTiming().endTime ?? Infinity))'

/** Fails with what an accessibility check finds at fault in the page as it is shown now. */
export async function faultless(tab: Page, what: string): Promise<void> {
  await tab.evaluate(`Promise.all(${ending}.map((one) => one.finished.catch(() => {})))`)
  await tab.evaluate(axe)
  const violations = await tab.evaluate(
    "axe.run(document).then((result) => result.violations.map((each) => each.id + ': ' + each.nodes.map((node) => node.target.join(' ')).join(', ')))",
  )
  assert.deepEqual(violations, [], what)
}

/** Light and dark, wide and narrow: what each page is looked at in. */
export async function everyLook(tab: Page, look: (name: string) => Promise<void>): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1280, 390]) {
      await tab.emulateMedia({ colorScheme })
      await tab.setViewportSize({ width, height: 800 })
      await look(`${colorScheme} ${width}`)
    }
}
