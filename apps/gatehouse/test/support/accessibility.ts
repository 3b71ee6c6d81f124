import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { withinTime } from '@gatehouse/kit'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * What fades in or moves has not its colours and its place yet: it is brought to its end, frame by frame, since what ends
 * may begin something else. Nobody waits for the end itself, which may never come: a browser does not play what is in a
 * closed `details`. What spins has none.
 */
const settle = `(async () => {
  const isEnding = (one) => Number.isFinite(one.effect?.getComputedTiming().endTime ?? Infinity)
  for (let frames = 0; frames < 3; frames++) {
    await new Promise(requestAnimationFrame)
    for (const one of document.getAnimations().filter(isEnding)) one.finish()
  }
})()`

const axeRun = `axe.run(document).then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ target }) => target.join(' ')).join(', ')))`

/** How long one check may take, in milliseconds; a script in a page has no limit of its own. */
const checkMs = 60_000

/** Fails with what an accessibility check finds at fault in the page as it is shown now. */
export async function faultless(tab: Page, what: string): Promise<void> {
  const check = async () => {
    await tab.evaluate(settle)
    if (!(await tab.evaluate('"axe" in window'))) await tab.evaluate(axe)
    return tab.evaluate(axeRun)
  }
  assert.deepEqual(await withinTime(checkMs, `the accessibility check of ${what}`, check()), [], what)
}

/**
 * What is labelled and must be readable to its end, where it has less room than its words take. What is there for screen
 * readers alone is clipped on purpose. A choice cuts what is chosen, and a field its example, without saying so.
 */
const cutOff = `(() => {
  const labels = 'a, button, label, legend, summary, h1, h2, h3, th, dt, [role=tab], [class*=Badge-root]'
  const pen = document.createElement('canvas').getContext('2d')
  const isShown = (one) => one.checkVisibility({ visibilityProperty: true }) && one.clientWidth > 1
  const isCut = (one) => {
    const { clipPath, overflowY } = getComputedStyle(one)
    const isTall = overflowY === 'hidden' && one.scrollHeight > one.clientHeight + 1
    return clipPath === 'none' && (isTall || one.scrollWidth > one.clientWidth + 1)
  }
  const isNarrow = (field, words) => {
    const { font, paddingLeft, paddingRight } = getComputedStyle(field)
    pen.font = font
    return pen.measureText(words).width > field.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) + 1
  }
  const parts = [...document.querySelectorAll(labels)].flatMap((one) => [one, ...one.querySelectorAll('*')])
  const cut = parts.filter((one) => one instanceof HTMLElement && one.textContent.trim() !== '' && isShown(one) && isCut(one))
  const wordsOf = (field) => field.selectedOptions?.[0]?.textContent ?? field.placeholder ?? ''
  const narrow = [...document.querySelectorAll('select, input')].filter((one) => isShown(one) && isNarrow(one, wordsOf(one)))
  return [...new Set([...cut.map((one) => one.textContent.trim().slice(0, 80)), ...narrow.map(wordsOf)])]
})()`

/** Fails with the labels whose words are cut off in the page as it is shown now. */
export async function readable(tab: Page, what: string): Promise<void> {
  await withinTime(checkMs, `the look at ${what}`, tab.evaluate(settle))
  assert.deepEqual(await tab.evaluate(cutOff), [], `cut off: ${what}`)
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
