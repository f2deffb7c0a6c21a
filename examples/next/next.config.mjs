/** @type {import("next").NextConfig} */
export default {
  // It has a native core, which is loaded and not bundled.
  serverExternalPackages: ["@chronq/sdk"],
};
