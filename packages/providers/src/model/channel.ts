/** The channels a message can take. No provider of this package serves `in-app`; one of your own may. */
export type Channel = 'push' | 'email' | 'sms' | 'in-app'
