/* What the service is called and who may do what to it. */
#include "win/service_data.h"

#include "common/base/banned.h"

/* 0x12019B is FILE_GENERIC_READ | FILE_GENERIC_WRITE without FILE_CREATE_PIPE_INSTANCE. */
const wchar_t sbx_service_pipe_sddl[] =
    L"O:SYG:SYD:P(D;;FA;;;NU)(D;;FA;;;AN)(A;;FA;;;SY)(A;;0x12019B;;;IU)S:(ML;;NWNR;;;ME)";

const wchar_t sbx_service_control_sddl[] = L"O:SYG:SYD:P(A;;FA;;;SY)";

const wchar_t sbx_service_sddl[] = L"D:P(A;;CCLCSWRPWPDTLOCRRC;;;SY)"
                                   L"(A;;CCDCLCSWRPWPDTLOCRSDRCWDWO;;;BA)(A;;CCLCSWLORC;;;AU)";

const wchar_t sbx_service_privileges[] = L"SeAssignPrimaryTokenPrivilege\0"
                                         L"SeChangeNotifyPrivilege\0"
                                         L"SeImpersonatePrivilege\0"
                                         L"SeIncreaseQuotaPrivilege\0";
