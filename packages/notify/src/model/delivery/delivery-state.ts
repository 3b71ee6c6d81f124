/** The states of a delivery, exactly as specified. */
export const deliveryStates = ['queued', 'sent', 'delivered', 'opened', 'clicked', 'bounced'] as const

/** A state of a delivery. */
export type DeliveryState = (typeof deliveryStates)[number]

/**
 * What may be reported about a delivery: the provider's acknowledgement, or one of its later reports. An unsubscription
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

/** A report about a delivery. */
export type DeliveryReport = (typeof deliveryReports)[number]

/**
 * The whole state machine. A pair that is not here changes nothing: reports repeat, arrive out of order, and overtake
 * our own record of the acknowledgement. A report that jumps ahead implies the states between; nothing goes back; bounced
 * is final, whatever came before.
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
