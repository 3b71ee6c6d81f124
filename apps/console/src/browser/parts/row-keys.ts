/** Rows of tables that keys move among, in the order of the page. */
const rowsOfPage = '.rows tbody tr'

/**
 * Does what a single key means for the rows of tables: `j` and `k` move the focus, and in the row that has it `Enter`
 * opens its link, `x` selects it, `e` and `r` press the button for it, and `.` goes to its actions. Returns whether the
 * key meant anything; while a dialog is open none does.
 */
export function pressRowKey(key: string): boolean {
  if (document.querySelector('[aria-modal=true]') !== null) return false
  const row = document.activeElement?.closest<HTMLElement>(rowsOfPage) ?? undefined
  if (key === 'j' || key === 'k') return moveTo(row, key === 'j' ? 1 : -1)
  if (row === undefined) return false
  // In a link or a button of the row Enter is theirs.
  if (key === 'Enter') return document.activeElement === row && press(row, 'a[href]')
  if (key === 'x') return press(row, 'input[type=checkbox]')
  if (key === 'e' || key === 'r') return press(row, `[data-key=${key}]`)
  return key === '.' && focusOn(row.querySelector<HTMLElement>('.actions button, .actions a'))
}

function moveTo(row: HTMLElement | undefined, step: 1 | -1): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>(rowsOfPage)]
  const at = row === undefined ? -1 : rows.indexOf(row)
  return focusOn(rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))])
}

function press(row: HTMLElement, selector: string): boolean {
  const element = row.querySelector<HTMLElement>(selector)
  element?.click()
  return element !== null
}

function focusOn(element: HTMLElement | null | undefined): boolean {
  element?.focus()
  return element !== null && element !== undefined
}
