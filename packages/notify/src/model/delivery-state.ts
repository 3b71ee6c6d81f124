/** The states of a delivery, letter by letter as specified. */
export const deliveryStates = ['queued', 'sent', 'delivered', 'opened', 'clicked', 'bounced'] as const

export type DeliveryState = (typeof deliveryStates)[number]

/**
 * What may be told about a delivery: the provider's ack, or one of its later reports. That its recipient unsubscribed
 * changes no state.
 */
export const deliveryReports = [
  'acknowledged',
  'delivered',
  'opened',
  'clicked',
  'bounced',
  'complained',
  'unsubscribed',
] as const

export type DeliveryReport = (typeof deliveryReports)[number]

/**
 * The whole state machine. A pair that is not here changes nothing: reports repeat, arrive out of order, and overtake
 * our own record of the ack. A report that jumps ahead implies the states between; nothing goes back; bounced is the
 * end, whatever came before.
 */
const transitions: Readonly<Record<DeliveryState, Partial<Record<DeliveryReport, DeliveryState>>>> = {
  queued: {
    acknowledged: 'sent',
    delivered: 'delivered',
    opened: 'opened',
    clicked: 'clicked',
    bounced: 'bounced',
    complained: 'bounced',
  },
  sent: {
    delivered: 'delivered',
    opened: 'opened',
    clicked: 'clicked',
    bounced: 'bounced',
    complained: 'bounced',
  },
  delivered: { opened: 'opened', clicked: 'clicked', bounced: 'bounced', complained: 'bounced' },
  opened: { clicked: 'clicked', bounced: 'bounced', complained: 'bounced' },
  clicked: { bounced: 'bounced', complained: 'bounced' },
  bounced: {},
}

/** The state after a report, or undefined when the report changes nothing. */
export function nextState(state: DeliveryState, report: DeliveryReport): DeliveryState | undefined {
  return transitions[state][report]
}
