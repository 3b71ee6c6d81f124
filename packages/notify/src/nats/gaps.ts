import type { HandleMessage } from './reader.ts'

/**
 * Has the reading of an exclusive consumer begin again where the server left a message out. It counts what it delivers,
 * and a leader that dies may have counted a message that never left it: its successor would deliver that one only after
 * the wait for its acknowledgement, behind those that follow. A consumer that is opened anew begins with it.
 */
export function withoutGaps(handle: HandleMessage): HandleMessage {
  let reading = { consumer: '', delivered: 0 }
  return async (message, interrupt) => {
    const { consumer, deliverySequence } = message.info
    if (consumer !== reading.consumer) reading = { consumer, delivered: 0 }
    if (deliverySequence !== reading.delivered + 1) return interrupt(0)
    reading.delivered = deliverySequence
    return handle(message, interrupt)
  }
}
