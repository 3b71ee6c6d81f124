/** The form of delivery ids: UUIDv7 in lower case (RFC 9562 §5.7). */
export const deliveryIdPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
