/** The ids of deliveries: UUIDv7 (RFC 9562 §5.7) in lower case. */
export const deliveryIdPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
