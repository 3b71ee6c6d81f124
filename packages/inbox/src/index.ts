import { GatehouseInbox } from './element.ts'

export type { Choice, Counts, Item } from './api.ts'
export { GatehouseInbox } from './element.ts'
export { english, type Texts } from './texts.ts'

if (!customElements.get('gatehouse-inbox')) customElements.define('gatehouse-inbox', GatehouseInbox)

declare global {
  interface HTMLElementTagNameMap {
    'gatehouse-inbox': GatehouseInbox
  }
}
