import { h, icon, icons } from './dom.ts'

const maxShown = 99

/** The button that opens the panel, with the number of items that were not seen. */
export class Bell {
  readonly button: HTMLButtonElement
  readonly #badge = h('span', { class: 'badge', part: 'badge', 'aria-hidden': 'true', hidden: true })

  constructor(onClick: () => void) {
    const attributes = { type: 'button', class: 'bell', part: 'bell', 'aria-haspopup': 'dialog' } as const
    const state = { 'aria-expanded': 'false', onclick: onClick }
    this.button = h('button', { ...attributes, ...state }, icon(icons.bell), this.#badge)
  }

  /** Says whether the panel is open. */
  setOpen(isOpen: boolean): void {
    this.button.setAttribute('aria-expanded', String(isOpen))
  }

  /** Shows how many items were not seen; `label` is what a screen reader says. */
  show(unseen: number, label: string): void {
    this.#badge.hidden = unseen === 0
    this.#badge.textContent = unseen > maxShown ? `${maxShown}+` : String(unseen)
    this.button.setAttribute('aria-label', label)
  }
}
