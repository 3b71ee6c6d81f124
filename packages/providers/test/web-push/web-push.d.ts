/** What we use of web-push, which brings no types of its own. */
declare module 'web-push' {
  interface RequestDetails {
    readonly method: string
    readonly headers: Readonly<Record<string, string | number>>
    readonly body: Buffer
    readonly endpoint: string
  }

  const webPush: {
    generateVAPIDKeys(): { readonly publicKey: string; readonly privateKey: string }
    generateRequestDetails(subscription: object, payload: string, options: object): RequestDetails
  }
  export = webPush
}
